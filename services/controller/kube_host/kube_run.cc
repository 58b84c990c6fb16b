#include "services/controller/kube_host/kube_run.h"

#include "services/controller/job/status.h"

namespace eidolon::controller::kube_host {
namespace {

constexpr std::uint16_t kMasterPort = 29500;

}  // namespace

void KubeRun::Assemble(std::int64_t now_ns, const std::string& now) {
  if (run || master_address.empty() || links.size() < resolved.servers) return;
  run.emplace(job::RunOptionsOf(resolved, peak_flops), now_ns);
  start_time = now;
  for (const auto& [server, link] : links) run->Connected(server);
}

reconcile::RunFacts KubeRun::Facts(std::int64_t now_ns) {
  reconcile::RunFacts facts;
  facts.attempt = attempt;
  facts.placed = placed;
  facts.seen = placement_seen;
  facts.assembled = run.has_value();
  if (!run) return facts;
  facts.ending = run->IsEnding();
  facts.stop_reason = run->stop_reason();
  if (run->IsOver()) facts.verdict = run->Judge();
  job::JobStatus status;
  status.progress = run->progress(now_ns);
  status.prediction = run->Predict();
  status.simulation = run->cost(now_ns);
  status.start_time = start_time;
  const nlohmann::json all = job::ToJson(status);
  for (const char* part : {"progress", "prediction", "simulation", "startTime"}) {
    if (all.contains(part)) facts.parts[part] = all[part];
  }
  return facts;
}

agents::Assignment KubeRun::MakeAssignment(std::uint32_t server) const {
  agents::Assignment assignment = {.agent = {handle, server},
                                   .job = network_job,
                                   .resolved = resolved,
                                   .run_directory = reconcile::kRunFolder,
                                   .timing_address = simulators->timing_address(),
                                   .network_address = simulators->network_address(),
                                   .service_token = simulators->MakeServiceToken(network_job),
                                   .master_address = master_address,
                                   .master_port = kMasterPort};
  job::JobSpec& spec = assignment.resolved.spec;
  const bool code = !spec.code_config_map.empty() || !spec.code_claim.empty();
  if (spec.working_directory.empty() && code) spec.working_directory = reconcile::kCodeFolder;
  return assignment;
}

}  // namespace eidolon::controller::kube_host
