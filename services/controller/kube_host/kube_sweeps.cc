#include "services/controller/kube_host/kube_sweeps.h"

#include "services/controller/kube_host/api_objects.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::controller::kube_host {

using nlohmann::json;
using rest::ApiResult;
using rest::ObjectName;

KubeSweeps::KubeSweeps(std::string name_space, kube::Client* client)
    : name_space_(std::move(name_space)),
      client_(*client),
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

ApiResult<json> KubeSweeps::CreateSweep(const std::string& name_space, const json& document) {
  sweep::ParsedSweep parsed = sweep::ParseSweep(document, job::Mode::kKubernetes);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  if (!parsed.problems.empty()) {
    return RefuseDocument("simulation sweep", std::move(parsed.problems));
  }
  auto created =
      client_.Create(kube::kSimulationSweeps, Prepared(document, name_space, sweep::kSweepKind));
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

ApiResult<json> KubeSweeps::DeleteSweep(const ObjectName& sweep) {
  return DeleteObject(&client_, kube::kSimulationSweeps, sweep);
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
  // Too young for our copy, or gone.
  const auto present = found != nullptr ? ApiResult<json>(Shown(*found)) : GetSweep(sweep);
  if (!present) return std::unexpected(present.error());
  return rest::JobChange{*present, VersionOf(*present), sweep::IsSweepOver(*present)};
}

}  // namespace eidolon::controller::kube_host
