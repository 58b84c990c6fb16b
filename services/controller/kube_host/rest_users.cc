// The controller creates pods for every user who may create simulation jobs, so a job's document
// must not reach what its author could not reach by pods of their own (a confused deputy): node
// paths, Secrets, claims, other ServiceAccounts. The test is the permission to create pods in the
// namespace, which already reaches all of that. A sweep can fill in such fields by its matrix, at
// any depth of a value, so paths and values are both searched; a match in excess only asks for the
// permission.
#include "services/controller/kube_host/rest_users.h"

#include <algorithm>
#include <string_view>

#include "services/base/text.h"
#include "services/controller/job/fields.h"
#include "services/controller/kube_host/api_objects.h"
#include "services/controller/kube_host/kube_authorizer.h"

namespace eidolon::controller::kube_host {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;

namespace {

constexpr char kValueFrom[] = "valueFrom";
constexpr char kClaim[] = "persistentVolumeClaim";

const json& PartOf(const json& object, std::string_view name) {
  static const json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() ? kNone : *found;
}

// Returns whether an object has the key, at any depth of the tree.
bool Mentions(const json& tree, std::string_view key) {
  if (tree.is_object() && tree.contains(key)) return true;
  if (!tree.is_structured()) return false;
  return std::ranges::any_of(tree, [&](const json& part) { return Mentions(part, key); });
}

void AddFieldsOfSpec(const json& spec, const std::string& at, std::vector<std::string>* fields) {
  for (const char* name : {"podTemplate", "envFrom"}) {
    const json& value = PartOf(spec, name);
    if (!value.is_null() && !value.empty()) fields->push_back(StrCat(at, "/", name));
  }
  const json& environment = PartOf(spec, "env");
  for (std::size_t i = 0; environment.is_array() && i < environment.size(); ++i) {
    if (PartOf(environment[i], kValueFrom).is_null()) continue;
    fields->push_back(StrCat(at, "/env/", i, "/", kValueFrom));
  }
  if (!PartOf(PartOf(spec, "code"), kClaim).is_null()) {
    fields->push_back(StrCat(at, "/code/", kClaim));
  }
}

// `path`: of a field below the spec of a job, "code.persistentVolumeClaim.claimName".
bool IsPodField(std::string_view path, const json& values) {
  const std::string_view first = path.substr(0, path.find('.'));
  if (first == "podTemplate" || first == "envFrom") return true;
  const auto reaches = [&](const char* key) {
    return path.find(key) != path.npos || Mentions(values, key);
  };
  return (first == "env" && reaches(kValueFrom)) || (first == "code" && reaches(kClaim));
}

}  // namespace

ApiResult<kube::Identity> RestUsers::Find(const rest::Writer& writer) const {
  auto identity = reviews_.Authenticate(writer.token, kRestAudience);
  if (identity) return std::move(*identity);
  // Since the request passed the authorizer, the token was revoked or nobody can say.
  const bool is_unknown = identity.error().code == ErrorCode::kInvalidArgument;
  return std::unexpected(ApiError{.code = ErrorCode::kUnavailable,
                                  .message = identity.error().message,
                                  .problems = {},
                                  .is_forbidden = is_unknown});
}

ApiResult<void> RestUsers::CheckPodFields(const kube::Identity& user, const std::string& name_space,
                                          const std::vector<std::string>& fields) const {
  if (fields.empty()) return {};
  const auto allowed = reviews_.IsAllowed(user, {.verb = "create",
                                                 .group = "",
                                                 .resource = "pods",
                                                 .name_space = name_space,
                                                 .name = "",
                                                 .subresource = ""});
  if (!allowed) return Refuse(ErrorCode::kUnavailable, allowed.error().message);
  if (*allowed) return {};
  ApiError error{.code = ErrorCode::kFailedPrecondition,
                 .message = StrCat("'", user.user, "' may not create pods in namespace '",
                                   name_space, "', so they may not set ", base::Join(fields, ", "),
                                   ": leave these fields out, or ask for the permission to create "
                                   "pods there"),
                 .problems = {},
                 .is_forbidden = true};
  for (const std::string& field : fields) {
    error.problems.push_back({field, "only who may create pods in the namespace may set it"});
  }
  return std::unexpected(std::move(error));
}

std::vector<std::string> FindPodFields(const json& job) {
  std::vector<std::string> fields;
  AddFieldsOfSpec(PartOf(job, "spec"), "/spec", &fields);
  return fields;
}

std::vector<std::string> FindPodFieldsOfSweep(const json& sweep) {
  std::vector<std::string> fields;
  const json& spec = PartOf(sweep, "spec");
  AddFieldsOfSpec(PartOf(spec, "job"), "/spec/job", &fields);
  const json& matrix = PartOf(spec, "matrix");
  for (auto entry = matrix.begin(); matrix.is_object() && entry != matrix.end(); ++entry) {
    if (IsPodField(entry.key(), entry.value())) {
      fields.push_back("/spec/matrix" + job::PointerTo(entry.key()));
    }
  }
  return fields;
}

}  // namespace eidolon::controller::kube_host
