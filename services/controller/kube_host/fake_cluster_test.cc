#include "services/controller/kube_host/fake_cluster_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "services/base/text.h"
#include "services/controller/job/document.h"
#include "source_tree.h"

namespace eidolon::controller::kube_host {
namespace {

using base::StrCat;
using kube::Reply;
using nlohmann::json;

constexpr std::chrono::milliseconds kWatchPause(5);

std::string CollectionOf(const kube::Resource& resource) {
  return StrCat(resource.api_version, " ", resource.plural);
}

std::string Unescape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return out;
}

// "a=b": the only kind of selector that our client sends.
bool Selects(const std::string& selector, const json& object) {
  if (selector.empty()) return true;
  const std::size_t equals = selector.find('=');
  const json labels = object["metadata"].value("labels", json::object());
  return labels.value(selector.substr(0, equals), "") == selector.substr(equals + 1);
}

// "involvedObject.uid=u,reason=r"
bool HasFields(const std::string& selector, const json& object) {
  for (const auto part : base::Split(selector, ',')) {
    const std::string text(part);
    std::string pointer = "/" + text.substr(0, text.find('='));
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const json value = object.value(json::json_pointer(pointer), json());
    if (value != text.substr(text.find('=') + 1)) return false;
  }
  return true;
}

Reply Refuse(int status, const std::string& reason, const std::string& message) {
  return kube::Json(
      {{"kind", "Status"}, {"code", status}, {"reason", reason}, {"message", message}}, status);
}

// The permissions of the controller's roles, each as "delete batch/jobs".
std::set<std::string> ReadRoles() {
  std::ifstream file(EIDOLON_SOURCE_DIR "/operator-manifests/rbac.yaml");
  std::stringstream text;
  text << file.rdbuf();
  std::set<std::string> allowed;
  const auto documents = job::ParseDocuments(text.str());
  if (!documents) return allowed;
  for (const json& document : *documents) {
    const std::string name = document["metadata"]["name"];
    if (!name.starts_with("eidolon-controller")) continue;
    for (const json& rule : document.value("rules", json::array())) {
      for (const std::string group : rule["apiGroups"]) {
        for (const std::string resource : rule["resources"]) {
          for (const std::string verb : rule["verbs"]) {
            allowed.insert(StrCat(verb, " ", group, "/", resource));
          }
        }
      }
    }
  }
  return allowed;
}

Reply RefuseSize() { return Refuse(500, "InternalError", "etcdserver: request is too large"); }

}  // namespace

FakeCluster::FakeCluster() : server_([this](const kube::Call& call) { return Handle(call); }) {}

FakeCluster::Target FakeCluster::Parse(const kube::Call& call) {
  Target target;
  const std::size_t mark = call.path.find('?');
  if (mark != std::string::npos) {
    const std::string query = call.path.substr(mark + 1);
    for (const auto pair : base::Split(query, '&')) {
      const std::string text(pair);
      target.query[text.substr(0, text.find('='))] = Unescape(text.substr(text.find('=') + 1));
    }
  }
  const std::string path = call.path.substr(1, mark == std::string::npos ? mark : mark - 1);
  std::vector<std::string> parts;
  for (const auto part : base::Split(path, '/')) parts.emplace_back(part);
  std::size_t at = 2;
  std::string version = parts[1];
  if (parts[0] == "apis") version += "/" + parts[at++];
  if (parts[at] == "namespaces") {
    target.key.name_space = parts[at + 1];
    at += 2;
  }
  target.collection = version + " " + parts[at++];
  if (at < parts.size()) target.key.name = parts[at++];
  if (at < parts.size()) target.subresource = parts[at];
  return target;
}

Reply FakeCluster::Handle(const kube::Call& call) {
  const std::lock_guard lock(mutex_);
  const Target target = Parse(call);
  json body = call.body.empty() ? json::object() : json::parse(call.body);
  if (target.collection.ends_with("tokenreviews")) return ReviewToken(std::move(body));
  if (target.collection.ends_with("subjectaccessreviews")) return ReviewAccess(std::move(body));
  if (auto refusal = JudgeRole(call, target)) return *refusal;
  if (call.method != "GET") {
    if (auto refusal = Judge(call, target)) return *refusal;
  }
  if (call.method == "POST") return Create(target, std::move(body));
  if (call.method == "PATCH") {
    return Patch(target, std::move(body), call.content_type == "application/apply-patch+yaml");
  }
  if (call.method == "DELETE") return Delete(target, body);
  if (target.subresource == "log") {
    return {.status = 200, .body = logs_[target.key.name], .retry_after = {}};
  }
  if (target.query.contains("watch")) return Watch(target);
  if (target.key.name.empty()) return ListObjects(target);
  const Objects& all = objects_[target.collection];
  const auto found = all.find(target.key);
  return found == all.end() ? Refuse(404, "NotFound", "not found") : kube::Json(found->second);
}

std::string FakeCluster::VerbOf(const kube::Call& call, const Target& target) {
  if (call.method == "POST") return "create";
  if (call.method == "PATCH") return "patch";
  if (call.method == "PUT") return "update";
  if (call.method == "DELETE") return "delete";
  if (target.query.contains("watch")) return "watch";
  return target.key.name.empty() ? "list" : "get";
}

std::optional<Reply> FakeCluster::JudgeRole(const kube::Call& call, const Target& target) {
  static const std::set<std::string> allowed = ReadRoles();
  if (!has_roles_ || !call.as_user.empty()) return std::nullopt;
  const std::size_t space = target.collection.find(' ');
  const std::size_t slash = target.collection.find('/');
  const std::string sentence =
      StrCat(VerbOf(call, target), " ", slash < space ? target.collection.substr(0, slash) : "",
             "/", target.collection.substr(space + 1), target.subresource.empty() ? "" : "/",
             target.subresource);
  if (allowed.contains(sentence)) return std::nullopt;
  ADD_FAILURE() << "operator-manifests/rbac.yaml does not let the controller " << sentence;
  return Refuse(403, "Forbidden", StrCat("User \"controller\" cannot ", sentence));
}

std::optional<Reply> FakeCluster::Judge(const kube::Call& call, const Target& target) {
  const std::string resource = target.collection.substr(target.collection.find(' ') + 1);
  const std::string& user = call.as_user;
  const std::string sentence =
      StrCat(user, " ", VerbOf(call, target), " ", resource, " ", target.key.name_space);
  if (!user.empty()) {
    if (!may_impersonate_.empty() && !may_impersonate_.contains(user)) {
      return Refuse(
          403, "Forbidden",
          StrCat("users \"", user, "\" is forbidden: User \"controller\" cannot ",
                 "impersonate resource \"users\" in API group \"\" at the cluster scope"));
    }
    if (!allowed_.contains(sentence)) {
      return Refuse(403, "Forbidden", StrCat("User \"", user, "\" cannot do that"));
    }
    if (denied_.contains(user)) return Refuse(403, "Forbidden", denied_[user]);
  }
  audit_.push_back(sentence);
  return std::nullopt;
}

void FakeCluster::Store(const std::string& collection, const kube::ObjectKey& key, json object) {
  Objects& all = objects_[collection];
  json& metadata = object["metadata"];
  metadata["name"] = key.name;
  if (!key.name_space.empty()) metadata["namespace"] = key.name_space;
  if (!metadata.contains("uid")) metadata["uid"] = StrCat("uid-", version_);
  if (!metadata.contains("creationTimestamp")) {
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z";
  }
  metadata["resourceVersion"] = std::to_string(++version_);
  const char* type = all.contains(key) ? "MODIFIED" : "ADDED";
  changes_.push_back({version_, type, collection, object});
  all[key] = std::move(object);
}

Reply FakeCluster::Create(const Target& target, json object) {
  kube::ObjectKey key = {target.key.name_space, object["metadata"].value("name", "")};
  const bool trial = target.query.contains("dryRun");
  if (trial && target.collection == "v1 pods" && !pods_refused_.empty()) {
    return Refuse(pods_refused_status_, "Forbidden", pods_refused_);
  }
  if (key.name.empty()) {
    key.name = StrCat(object["metadata"].value("generateName", ""), version_);
  }
  if (objects_[target.collection].contains(key)) {
    return Refuse(409, "AlreadyExists", StrCat(key.name, " already exists"));
  }
  if (trial) return kube::Json(object, 201);
  if (!kind_refused_.empty() && object.value("kind", "") == kind_refused_) {
    return Refuse(kind_refused_status_, "Forbidden", kind_refusal_);
  }
  if (object.dump().size() > object_bytes_max_) return RefuseSize();
  object["metadata"]["managedFields"] = json::array();
  NoteManager(target, "Update", &object);
  Store(target.collection, key, std::move(object));
  return kube::Json(objects_[target.collection][key], 201);
}

// Notes the manager without the fields themselves.
void FakeCluster::NoteManager(const Target& target, const char* operation, json* object) {
  json& managers = (*object)["metadata"]["managedFields"];
  if (!managers.is_array()) managers = json::array();
  const auto manager = target.query.find("fieldManager");
  const json entry = {{"manager", manager == target.query.end() ? "unknown" : manager->second},
                      {"operation", operation}};
  if (std::ranges::find(managers, entry) == managers.end()) managers.push_back(entry);
}

Reply FakeCluster::Patch(const Target& target, json change, bool apply) {
  Objects& all = objects_[target.collection];
  const auto found = all.find(target.key);
  if (found == all.end() && (!apply || !target.subresource.empty())) {
    return Refuse(404, "NotFound", "not found");
  }
  if (apply && !kind_refused_.empty() && change.value("kind", "") == kind_refused_) {
    return Refuse(kind_refused_status_, "Forbidden", kind_refusal_);
  }
  json object = found == all.end() ? json::object() : found->second;
  const json metadata = change.value("metadata", json::object());
  const std::string uid = object.value("metadata", json::object()).value("uid", "");
  if (metadata.value("uid", uid) != uid) {
    return Refuse(422, "Invalid", "metadata.uid: Invalid value: field is immutable");
  }
  if (metadata.contains("resourceVersion") &&
      metadata["resourceVersion"] != object["metadata"]["resourceVersion"]) {
    return Refuse(409, "Conflict", "the object has been modified");
  }
  if (target.subresource == "status" && !status_refused_.empty() &&
      change["status"].value("phase", "") == phase_refused_) {
    return Refuse(500, "InternalError", status_refused_);
  }
  if (target.subresource == "status") {
    object["status"] = change["status"];
  } else {
    change.erase("status");
    if (metadata.contains("resourceVersion")) change["metadata"].erase("resourceVersion");
    object.merge_patch(change);
    if (apply) NoteManager(target, "Apply", &object);
  }
  if (object.dump().size() > object_bytes_max_) return RefuseSize();
  if (found == all.end() || object != found->second) {
    Store(target.collection, target.key, std::move(object));
  }
  return kube::Json(all[target.key]);
}

Reply FakeCluster::Delete(const Target& target, const json& options) {
  Objects& all = objects_[target.collection];
  const auto found = all.find(target.key);
  if (found == all.end()) return Refuse(404, "NotFound", "not found");
  const std::string wanted = options.value("preconditions", json::object()).value("uid", "");
  if (!wanted.empty() && found->second["metadata"]["uid"] != wanted) {
    return Refuse(409, "Conflict", "Precondition failed: UID in precondition: " + wanted);
  }
  changes_.push_back({++version_, "DELETED", target.collection, found->second});
  changes_.back().object["metadata"]["resourceVersion"] = std::to_string(version_);
  all.erase(found);
  return kube::Json({{"kind", "Status"}, {"status", "Success"}});
}

Reply FakeCluster::ListObjects(const Target& target) {
  const auto selector = target.query.find("labelSelector");
  const auto fields = target.query.find("fieldSelector");
  json items = json::array();
  for (const auto& [key, object] : objects_[target.collection]) {
    if (!target.key.name_space.empty() && key.name_space != target.key.name_space) continue;
    if (selector != target.query.end() && !Selects(selector->second, object)) continue;
    if (fields != target.query.end() && !HasFields(fields->second, object)) continue;
    items.push_back(object);
  }
  return kube::Json(
      {{"items", items}, {"metadata", {{"resourceVersion", std::to_string(version_)}}}});
}

Reply FakeCluster::Watch(const Target& target) {
  const std::int64_t after = std::stoll(target.query.at("resourceVersion"));
  const auto selector = target.query.find("labelSelector");
  std::vector<json> events;
  for (const Change& change : changes_) {
    if (change.version <= after || change.collection != target.collection) continue;
    if (selector != target.query.end() && !Selects(selector->second, change.object)) continue;
    events.push_back({{"type", change.type}, {"object", change.object}});
  }
  // Streams of this server end at once: watchers come again.
  std::this_thread::sleep_for(kWatchPause);
  return kube::Events(events);
}

Reply FakeCluster::ReviewToken(json review) {
  const auto found = tokens_.find(review["spec"]["token"]);
  const bool known =
      found != tokens_.end() && found->second["audience"] == review["spec"]["audiences"].front();
  review["status"] = {{"authenticated", known}};
  if (known) {
    review["status"]["audiences"] = review["spec"]["audiences"];
    review["status"]["user"] = found->second["user"];
  }
  return kube::Json(review, 201);
}

Reply FakeCluster::ReviewAccess(json review) {
  const json& spec = review["spec"];
  const json& what = spec["resourceAttributes"];
  const std::string sentence =
      StrCat(spec["user"].get<std::string>(), " ", what["verb"].get<std::string>(), " ",
             what["resource"].get<std::string>(), " ", what["namespace"].get<std::string>());
  review["status"] = {{"allowed", allowed_.contains(sentence)}};
  return kube::Json(review, 201);
}

void FakeCluster::Put(const kube::Resource& resource, const kube::ObjectKey& key, json change) {
  const std::lock_guard lock(mutex_);
  const std::string collection = CollectionOf(resource);
  json object = {
      {"apiVersion", resource.api_version}, {"kind", resource.kind}, {"metadata", json::object()}};
  const auto found = objects_[collection].find(key);
  if (found != objects_[collection].end()) object = found->second;
  object.merge_patch(change);
  Store(collection, key, std::move(object));
}

void FakeCluster::Remove(const kube::Resource& resource, const kube::ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  Delete({.collection = CollectionOf(resource), .key = key, .subresource = {}, .query = {}},
         json::object());
}

std::optional<json> FakeCluster::Find(const kube::Resource& resource, const kube::ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  const Objects& all = objects_[CollectionOf(resource)];
  const auto found = all.find(key);
  if (found == all.end()) return std::nullopt;
  return found->second;
}

std::vector<json> FakeCluster::List(const kube::Resource& resource) {
  const std::lock_guard lock(mutex_);
  std::vector<json> list;
  for (const auto& [key, object] : objects_[CollectionOf(resource)]) list.push_back(object);
  return list;
}

void FakeCluster::SetLog(const std::string& pod, const std::string& text) {
  const std::lock_guard lock(mutex_);
  logs_[pod] = text;
}

void FakeCluster::AddToken(const std::string& token, const std::string& audience,
                           const std::string& user, json extra) {
  const std::lock_guard lock(mutex_);
  tokens_[token] = {{"audience", audience}, {"user", {{"username", user}, {"extra", extra}}}};
}

void FakeCluster::Allow(const std::string& sentence) {
  const std::lock_guard lock(mutex_);
  allowed_.insert(sentence);
}

std::size_t FakeCluster::CallsBeside(const std::string& text) const {
  const auto calls = server_.calls();
  return std::ranges::count_if(
      calls, [&](const kube::Call& call) { return call.path.find(text) == call.path.npos; });
}

void FakeCluster::DenyWrites(const std::string& user, const std::string& message) {
  const std::lock_guard lock(mutex_);
  denied_[user] = message;
}

void FakeCluster::AllowImpersonation(const std::string& user) {
  const std::lock_guard lock(mutex_);
  may_impersonate_.insert(user);
}

std::vector<std::string> FakeCluster::Audit() {
  const std::lock_guard lock(mutex_);
  return audit_;
}

void FakeCluster::RefuseStatus(const std::string& phase, const std::string& message) {
  const std::lock_guard lock(mutex_);
  phase_refused_ = phase;
  status_refused_ = message;
}

void FakeCluster::RefusePods(const std::string& message, int status) {
  const std::lock_guard lock(mutex_);
  pods_refused_ = message;
  pods_refused_status_ = status;
}

void FakeCluster::LimitObjects(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  object_bytes_max_ = bytes;
}

void FakeCluster::RefuseApply(const std::string& kind, const std::string& message, int status) {
  const std::lock_guard lock(mutex_);
  kind_refused_status_ = status;
  kind_refused_ = kind;
  kind_refusal_ = message;
}

}  // namespace eidolon::controller::kube_host
