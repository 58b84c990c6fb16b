// Like KubeApi, this keeps no state besides an informer's copy, which serves those who wait. A
// patch is checked by the function that embedded mode uses, so both modes allow the same changes.
// The annotation with the creator must survive a patch: a null for all annotations is rewritten to
// a null for each other one, and any other value for it is a problem. Fields that reach beyond the
// user's rights are checked in the matrix as well.
#include "services/controller/kube_host/kube_sweeps.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/job/fields.h"
#include "services/controller/kube_host/api_objects.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/sweep/change.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::kube_host {

using nlohmann::json;
using rest::ApiResult;
using rest::ObjectName;

namespace {

// Keeps the annotations that a patch wants, and the one that names the creator of the sweep.
void KeepCreator(const json& sweep, json* patch, job::Problems* problems) {
  const auto metadata = patch->find("metadata");
  if (metadata == patch->end() || !metadata->contains("annotations")) return;
  json& annotations = (*metadata)["annotations"];
  const json present = sweep["metadata"].value("annotations", json::object());
  if (annotations.is_null()) {
    annotations = json::object();
    for (const auto& [name, value] : present.items()) {
      if (name != kCreatedByAnnotation) annotations[name] = nullptr;
    }
  }
  if (!annotations.is_object() || !annotations.contains(kCreatedByAnnotation)) return;
  if (present.contains(kCreatedByAnnotation) &&
      annotations[kCreatedByAnnotation] == present[kCreatedByAnnotation]) {
    return;
  }
  problems->push_back({"/metadata/annotations" + job::PointerTo(kCreatedByAnnotation),
                       "is written by the server alone"});
}

}  // namespace

KubeSweeps::KubeSweeps(std::string name_space, kube::Client* client, const RestUsers* users)
    : name_space_(std::move(name_space)),
      client_(*client),
      users_(*users),
      sweeps_({kube::kSimulationSweeps, name_space_, ""}, client, [this](const json&) {
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
      }) {}

void KubeSweeps::Start() { sweeps_.Start(); }

void KubeSweeps::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  sweeps_.Stop();
}

ApiResult<json> KubeSweeps::CreateSweep(const std::string& name_space, const json& document,
                                        const rest::Writer& writer) {
  sweep::ParsedSweep parsed = sweep::ParseSweep(document, job::Mode::kKubernetes);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  if (!parsed.problems.empty()) {
    return RefuseDocument("simulation sweep", std::move(parsed.problems));
  }
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  if (auto may = users_.CheckPodFields(*user, name_space, FindPodFieldsOfSweep(document)); !may) {
    return std::unexpected(may.error());
  }
  auto created = CreateObject(&client_, kube::ToImpersonation(*user), kube::kSimulationSweeps,
                              Prepared(document, name_space, sweep::kSweepKind));
  if (!created) return Refuse(created.error());
  return Shown(std::move(*created));
}

ApiResult<std::vector<json>> KubeSweeps::ListSweeps(const std::string& name_space) {
  return ListObjects(&client_, kube::kSimulationSweeps,
                     name_space.empty() ? name_space_ : name_space);
}

ApiResult<json> KubeSweeps::GetSweep(const ObjectName& sweep) {
  return GetObject(&client_, kube::kSimulationSweeps, sweep);
}

ApiResult<json> KubeSweeps::DeleteSweep(const ObjectName& sweep, const rest::Writer& writer) {
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  return DeleteObject(&client_, kube::ToImpersonation(*user), kube::kSimulationSweeps, sweep);
}

ApiResult<json> KubeSweeps::PatchSweep(const ObjectName& sweep, const json& patch,
                                       const rest::Writer& writer) {
  auto present = GetSweep(sweep);
  if (!present) return present;
  sweep::SweepChange change = sweep::ReadSweepChange(*present, patch, job::Mode::kKubernetes);
  KeepCreator(*present, &change.patch, &change.problems);
  if (!change.problems.empty()) return RefuseDocument("change", std::move(change.problems));
  if (change.of_spec && sweep::IsSweepOver(*present)) {
    return Refuse(base::ErrorCode::kFailedPrecondition, sweep::kOverText);
  }
  if (change.patch.empty()) return present;
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  return PatchObject(&client_, kube::ToImpersonation(*user), kube::kSimulationSweeps, sweep,
                     change.patch);
}

ApiResult<rest::JobChange> KubeSweeps::AwaitSweep(const ObjectName& sweep, std::int64_t after,
                                                  std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] {
      if (stopping_) return true;
      const auto found = sweeps_.Find(KeyOf(sweep));
      return found == nullptr || VersionOf(*found) > after;
    });
    if (stopping_) return Refuse(base::ErrorCode::kUnavailable, "the controller is being stopped");
  }
  const auto found = sweeps_.Find(KeyOf(sweep));
  // The sweep is too young for our copy, or gone.
  const auto present = found != nullptr ? ApiResult<json>(Shown(*found)) : GetSweep(sweep);
  if (!present) return std::unexpected(present.error());
  return rest::JobChange{*present, VersionOf(*present), sweep::IsSweepOver(*present)};
}

ApiResult<rest::ListChange> KubeSweeps::AwaitSweeps(const std::string& name_space,
                                                    std::int64_t after, std::size_t known,
                                                    std::chrono::milliseconds timeout) {
  const auto is_asked_for = [&](const json& object) {
    return name_space.empty() || object["metadata"].value("namespace", "") == name_space;
  };
  std::vector<kube::ObjectPointer> objects;
  const auto has_changed = [&] {
    objects = sweeps_.List(is_asked_for);
    const auto is_new = [&](const auto& object) { return VersionOf(*object) > after; };
    return stopping_ || objects.size() != known || std::ranges::any_of(objects, is_new);
  };
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, has_changed);
    if (stopping_) return Refuse(base::ErrorCode::kUnavailable, "the controller is being stopped");
  }
  rest::ListChange change = {.changed = {}, .present = {}, .version = after};
  for (const kube::ObjectPointer& object : objects) {
    const json& metadata = (*object)["metadata"];
    change.present.insert(
        base::StrCat(metadata.value("namespace", ""), "/", metadata.value("name", "")));
    const std::int64_t version = VersionOf(*object);
    if (version <= after) continue;
    change.version = std::max(change.version, version);
    change.changed.push_back(sweep::SweepSummaryOf(Shown(*object)));
  }
  std::ranges::stable_sort(change.changed, {}, [](const json& object) {
    return object["metadata"].value("creationTimestamp", "");
  });
  return change;
}

}  // namespace eidolon::controller::kube_host
