// A Kubernetes for tests: objects in memory behind real HTTP. It knows create, get, list, watch,
// apply, merge patch, delete, logs, token and access reviews, preconditions on uid and version, who
// manages fields, and the roles of the controller; it has no controllers, no defaults and no
// admission, so that a test decides what happens to a Deployment or a pod.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "services/controller/kube/fake_server_test.h"
#include "services/controller/kube/resource.h"

namespace eidolon::controller::kube_host {

// Thread safe.
class FakeCluster {
 public:
  FakeCluster();

  std::string url() const { return server_.url(); }
  // Puts an object there, or changes fields of it (merge patch).
  void Put(const kube::Resource& resource, const kube::ObjectKey& key, nlohmann::json change);
  void Remove(const kube::Resource& resource, const kube::ObjectKey& key);
  std::optional<nlohmann::json> Find(const kube::Resource& resource, const kube::ObjectKey& key);
  std::vector<nlohmann::json> List(const kube::Resource& resource);
  void SetLog(const std::string& pod, const std::string& text);
  // A token that is valid for an audience, of a user; `extra` as in a TokenReview.
  void AddToken(const std::string& token, const std::string& audience, const std::string& user,
                nlohmann::json extra = nlohmann::json::object());
  // "user verb resource namespace" is allowed: by access reviews, and when we impersonate the user.
  void Allow(const std::string& sentence);
  // Writes of this user are denied by an admission policy with this message.
  void DenyWrites(const std::string& user, const std::string& message);
  // The client has another role of the chart than the controller's.
  void IgnoreRoles() { has_roles_ = false; }
  // Allows impersonation of the user; of everybody, as long as no user was named.
  void AllowImpersonation(const std::string& user);
  // Writes that were done, as the audit log has them: "user verb resource namespace"; of ourselves
  // with the user "".
  std::vector<std::string> Audit();
  // Refuses the creation of a pod as a trial (dryRun) with this message; empty: it is not refused.
  void RefusePods(const std::string& message, int status = 403);
  // What creating or applying an object of this kind is refused with; empty: it is not.
  void RefuseApply(const std::string& kind, const std::string& message, int status = 403);
  // Objects that would be larger are refused as etcd does it.
  void LimitObjects(std::size_t bytes);
  // Refuses a status of this phase with this message (500), as an etcd without space does; empty:
  // it is not refused.
  void RefuseStatus(const std::string& phase, const std::string& message);
  std::size_t calls() const { return server_.calls().size(); }
  // Counts calls without those whose path contains the text.
  std::size_t CallsBeside(const std::string& text) const;

 private:
  struct Target {
    std::string collection;  // "batch/v1 jobs"
    kube::ObjectKey key;
    std::string subresource;
    std::map<std::string, std::string> query;
  };
  struct Change {
    std::int64_t version = 0;
    std::string type;
    std::string collection;
    nlohmann::json object;
  };
  using Objects = std::map<kube::ObjectKey, nlohmann::json>;

  kube::Reply Handle(const kube::Call& call);
  static Target Parse(const kube::Call& call);
  static std::string VerbOf(const kube::Call& call, const Target& target);
  // Refuses a call in the controller's own name that its roles do not allow, and fails the test;
  // none: the call may go on.
  std::optional<kube::Reply> JudgeRole(const kube::Call& call, const Target& target);
  // Authorization and admission of a write in a user's name; none: it may go on.
  std::optional<kube::Reply> Judge(const kube::Call& call, const Target& target);
  kube::Reply Create(const Target& target, nlohmann::json object);
  kube::Reply Patch(const Target& target, nlohmann::json change, bool apply);
  kube::Reply Delete(const Target& target, const nlohmann::json& options);
  static void NoteManager(const Target& target, const char* operation, nlohmann::json* object);
  kube::Reply ListObjects(const Target& target);
  kube::Reply Watch(const Target& target);
  kube::Reply ReviewToken(nlohmann::json review);
  kube::Reply ReviewAccess(nlohmann::json review);
  void Store(const std::string& collection, const kube::ObjectKey& key, nlohmann::json object);

  std::mutex mutex_;  // Guards what follows.
  std::int64_t version_ = 100;
  std::map<std::string, Objects> objects_;
  std::vector<Change> changes_;
  std::map<std::string, std::string> logs_;
  std::map<std::string, nlohmann::json> tokens_;
  std::set<std::string> allowed_;
  std::atomic<bool> has_roles_ = true;
  std::set<std::string> may_impersonate_;
  std::map<std::string, std::string> denied_;  // By user.
  std::vector<std::string> audit_;
  std::string pods_refused_;
  int pods_refused_status_ = 403;
  std::string kind_refused_, kind_refusal_;
  int kind_refused_status_ = 403;
  std::size_t object_bytes_max_ = SIZE_MAX;
  std::string phase_refused_;
  std::string status_refused_;
  kube::FakeServer server_;
};

}  // namespace eidolon::controller::kube_host
