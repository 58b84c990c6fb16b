// Errors of the API server become those of our API here and nowhere else, fields of its causes
// included, which become JSON pointers. Writes are made in the name of the user (impersonation), so
// that admission, quotas and the audit log see the user and not the controller; the annotation with
// the creator is set after the user's document is read, so it cannot be forged. Deleting names the
// uid that was read: an object that was created under the same name meanwhile is another one.
#include "services/controller/kube_host/api_objects.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;
using rest::ObjectName;

namespace {

ErrorCode CodeOf(const kube::Refusal& refusal) {
  if (refusal.IsNotFound()) return ErrorCode::kNotFound;
  if (refusal.IsTooLarge()) return ErrorCode::kInvalidArgument;
  if (refusal.reason == "AlreadyExists") return ErrorCode::kAlreadyExists;
  if (refusal.IsConflict() || refusal.IsForbidden()) return ErrorCode::kFailedPrecondition;
  if (refusal.status == 429) return ErrorCode::kResourceExhausted;
  if (refusal.status >= 400 && refusal.status < 500) return ErrorCode::kInvalidArgument;
  return ErrorCode::kUnavailable;
}

// Message of the API server when our own permissions do not cover the user.
constexpr char kMayNotAct[] = "cannot impersonate resource";
constexpr char kLetItAct[] =
    ": objects are written in the name of who asks for them, and the controller may not act for "
    "this user; an administrator can allow it by controller.impersonate of the chart";
constexpr char kTooLarge[] =
    ": the object is larger than the cluster can store; shorten it, or put large parts into a "
    "ConfigMap or the image";

// "spec.env[3].name" as the JSON pointer "/spec/env/3/name".
std::string PointerOf(const std::string& field) {
  std::string pointer = "/";
  for (const char c : field) {
    if (c == '.' || c == '[') {
      pointer += '/';
    } else if (c != ']') {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace

std::unexpected<ApiError> Refuse(ErrorCode code, std::string message, job::Problems problems) {
  return std::unexpected(ApiError{code, std::move(message), std::move(problems)});
}

std::unexpected<ApiError> Refuse(const kube::Refusal& refusal) {
  job::Problems problems;
  if (refusal.details.is_object()) {
    for (const json& cause : refusal.details.value("causes", json::array())) {
      problems.push_back({PointerOf(cause.value("field", "")), cause.value("message", "")});
    }
  }
  ApiError error{.code = CodeOf(refusal),
                 .message = refusal.message,
                 .problems = std::move(problems),
                 .is_forbidden = refusal.IsForbidden()};
  if (refusal.IsForbidden() && refusal.message.find(kMayNotAct) != std::string::npos) {
    error.message += kLetItAct;
  }
  if (refusal.IsTooLarge()) error.message += kTooLarge;
  return std::unexpected(std::move(error));
}

void CheckNamespace(const std::string& name_space, const job::Metadata& metadata,
                    job::Problems* problems) {
  if (metadata.name_space.empty() || metadata.name_space == name_space) return;
  problems->push_back(
      {"/metadata/namespace", StrCat("is '", metadata.name_space,
                                     "', but the request goes to namespace '", name_space, "'")});
}

std::unexpected<ApiError> RefuseDocument(std::string_view kind, job::Problems problems) {
  std::string text =
      StrCat("the ", kind, " has ", problems.size(), " problem(s): ", job::Describe(problems));
  return Refuse(ErrorCode::kInvalidArgument, std::move(text), std::move(problems));
}

json Shown(json object) {
  object["metadata"].erase("managedFields");
  return object;
}

kube::ObjectKey KeyOf(const ObjectName& name) { return {name.name_space, name.name}; }

json Prepared(json document, const std::string& name_space, std::string_view kind) {
  document["apiVersion"] = job::kApiVersion;
  document["kind"] = kind;
  document["metadata"]["namespace"] = name_space;
  document.erase("status");
  return document;
}

ApiResult<std::vector<json>> ListObjects(kube::Client* client, const kube::Resource& resource,
                                         const std::string& name_space) {
  auto page = client->List(resource, name_space, "");
  if (!page) return Refuse(page.error());
  std::vector<json> objects;
  for (json& object : page->items) objects.push_back(Shown(std::move(object)));
  std::stable_sort(objects.begin(), objects.end(), [](const json& a, const json& b) {
    return a["metadata"].value("creationTimestamp", "") <
           b["metadata"].value("creationTimestamp", "");
  });
  return objects;
}

ApiResult<json> GetObject(kube::Client* client, const kube::Resource& resource,
                          const ObjectName& name) {
  auto object = client->Get(resource, KeyOf(name));
  if (!object) return Refuse(object.error());
  return Shown(std::move(*object));
}

kube::Answer<json> CreateObject(kube::Client* client, const kube::Impersonation& user,
                                const kube::Resource& resource, json object) {
  object["metadata"]["annotations"][kCreatedByAnnotation] = user.user;
  return client->CreateAs(user, resource, object);
}

ApiResult<json> PatchObject(kube::Client* client, const kube::Impersonation& user,
                            const kube::Resource& resource, const ObjectName& name,
                            const json& patch) {
  auto changed = client->MergePatchAs(user, resource, KeyOf(name), patch);
  if (!changed) return Refuse(changed.error());
  return Shown(std::move(*changed));
}

ApiResult<json> DeleteObject(kube::Client* client, const kube::Impersonation& user,
                             const kube::Resource& resource, const ObjectName& name) {
  auto object = GetObject(client, resource, name);
  if (!object) return object;
  const auto gone =
      client->DeleteAs(user, resource, KeyOf(name), kube::Propagation::kBackground, UidOf(*object));
  if (!gone) return Refuse(gone.error());
  return object;
}

}  // namespace eidolon::controller::kube_host
