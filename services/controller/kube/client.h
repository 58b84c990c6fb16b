// A small Kubernetes client: requests with a rotating token over kept connections, and watch
// streams. What client-go would be; only what the controller needs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/kube/resource.h"

namespace httplib {
class Client;
}

namespace eidolon::controller::kube {

// Address of the API server, and our identity.
struct ApiServer {
  std::string url;         // "https://10.92.0.1:443"
  std::string ca_file;     // Trusted alone; empty with http.
  std::string token_file;  // Read again every 30 s: tokens rotate. Empty: anonymous.

  // Returns what every pod finds in its environment and under /var/run/secrets.
  static base::Result<ApiServer> InCluster();
};

// An answer that is not a success. Status 0: there was no answer.
struct Refusal {
  int status = 0;
  std::string reason;   // "NotFound", "Conflict", "AlreadyExists", "Expired", ...
  std::string message;  // For people.
  nlohmann::json details;

  bool IsNotFound() const { return status == 404; }
  bool IsConflict() const { return status == 409; }
  bool IsGone() const { return status == 410; }
  bool IsForbidden() const { return status == 403; }
  // Of an object that the API server, or etcd behind it, cannot hold: it is the same next time.
  bool IsTooLarge() const;
};

template <typename T>
using Answer = std::expected<T, Refusal>;

// A user in whose name a request is made: the API server authorizes and admits the request as
// theirs, and its audit log names them beside us. We need the permission to impersonate them.
struct Impersonation {
  std::string user;
  // Without system:authenticated, and none of a ServiceAccount: the API server adds these itself.
  std::vector<std::string> groups;
};

struct ListPage {
  std::vector<nlohmann::json> items;
  std::string resource_version;
};

// Field manager of what this client creates and applies.
inline constexpr char kFieldManager[] = "eidolon-controller";

enum class Propagation { kBackground, kForeground };

// Called with each event of a watch: "ADDED", "MODIFIED", "DELETED", "BOOKMARK". False ends it.
using WatchEvent = std::function<bool(const std::string& type, nlohmann::json object)>;

// Thread safe. Every request ends: 10 s without a connection or 20 s without an answer are an
// error. All repetitions and the pauses that the server asks for share these 20 s. A request takes
// longer only while its answer keeps coming in.
class Client {
 public:
  Client(ApiServer server, const base::RealClock& clock);
  ~Client();

  Answer<nlohmann::json> Get(const Resource& resource, const ObjectKey& key);
  // All pages. `selector`: of labels, `fields`: of fields; empty: all. `name_space` empty: all
  // namespaces.
  Answer<ListPage> List(const Resource& resource, const std::string& name_space,
                        const std::string& selector, const std::string& fields = "");
  Answer<nlohmann::json> Create(const Resource& resource, const nlohmann::json& object,
                                bool dry_run = false);
  Answer<nlohmann::json> CreateAs(const Impersonation& user, const Resource& resource,
                                  const nlohmann::json& object);
  // Replaces an object; metadata.resourceVersion guards it.
  Answer<nlohmann::json> Replace(const Resource& resource, const nlohmann::json& object);
  // Server-side apply as kFieldManager, by force: these fields are ours. With metadata.uid: of this
  // object alone.
  Answer<nlohmann::json> Apply(const nlohmann::json& object);
  Answer<nlohmann::json> ApplyStatus(const nlohmann::json& object);
  Answer<nlohmann::json> MergePatch(const Resource& resource, const ObjectKey& key,
                                    const nlohmann::json& patch);
  Answer<nlohmann::json> MergePatchAs(const Impersonation& user, const Resource& resource,
                                      const ObjectKey& key, const nlohmann::json& patch);
  // An object that is gone counts as success. `uid`: only this one.
  Answer<void> Delete(const Resource& resource, const ObjectKey& key, Propagation propagation,
                      const std::string& uid = "");
  Answer<void> DeleteAs(const Impersonation& user, const Resource& resource, const ObjectKey& key,
                        Propagation propagation, const std::string& uid);
  // Text of a pod's log, its first 32 MiB; with the time before each line or without.
  Answer<std::string> ReadLog(const ObjectKey& pod, const std::string& container, bool timestamps);

  // Follows changes after `resource_version` until the server or `on_event` ends it, or Cancel.
  // Answers normally when the stream just ended. kGone: list again.
  class Watch {
   public:
    explicit Watch(Client* client) : client_(*client) {}
    Answer<void> Follow(const Resource& resource, const std::string& name_space,
                        const std::string& selector, const std::string& resource_version,
                        std::chrono::seconds timeout, const WatchEvent& on_event);
    void Cancel();

   private:
    Client& client_;
    std::mutex mutex_;  // Guards what follows.
    httplib::Client* open_ = nullptr;
    bool cancelled_ = false;
  };

  // Requests sent so far, by all callers.
  std::uint64_t requests() const { return requests_.load(); }

 private:
  struct Request;
  struct Reply;
  struct Idle {
    std::unique_ptr<httplib::Client> connection;
    std::int64_t since_ns = 0;
  };

  Answer<Reply> Send(const Request& request);
  Answer<nlohmann::json> SendJson(const Request& request);
  Answer<void> SendDelete(const Impersonation* user, const Resource& resource, const ObjectKey& key,
                          Propagation propagation, const std::string& uid);
  // A kept connection that was used lately; nothing when there is none.
  std::unique_ptr<httplib::Client> TakeIdle();
  std::unique_ptr<httplib::Client> Connect(std::chrono::milliseconds read_timeout) const;
  std::string Token();

  const ApiServer server_;
  const base::RealClock& clock_;
  std::atomic<std::uint64_t> requests_ = 0;
  std::mutex mutex_;  // Guards what follows.
  std::vector<Idle> idle_;
  std::string token_;
  std::int64_t token_read_ns_ = 0;
};

}  // namespace eidolon::controller::kube
