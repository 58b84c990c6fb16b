// A run is assembled when the last agent has connected: ranks need each other from the start, and
// limits that count from the admission must include the wait (admitted_before_ns). NotePod is
// called for each change of a pod because what disturbed it is visible for a short time only. Once
// one pod has ended or the controller removes the Job, the deletion of other pods is a consequence
// and no disruption. The port for the ranks is fixed, as each pod has a network namespace of its
// own.
#include "services/controller/kube_host/kube_run.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/controller/diagnosis/diagnosis.h"
#include "services/controller/job/class_check.h"
#include "services/controller/job/critical_path.h"
#include "services/controller/job/recorded_job.h"

namespace eidolon::controller::kube_host {
namespace {

constexpr std::uint16_t kMasterPort = 29500;
constexpr char kIndexVariable[] = "JOB_COMPLETION_INDEX";
using Variable = job::Environment::value_type;

}  // namespace

void KubeRun::Assemble(std::int64_t now_ns, const std::string& now) {
  if (run || master_address.empty() || links.size() < agent_servers.size()) return;
  job::RunOptions options = job::RunOptionsOf(resolved, peak_flops);
  options.admitted_before_ns = now_ns - admitted_ns;
  run.emplace(std::move(options), now_ns);
  start_time = now;
  for (const auto& [server, link] : links) run->Connected(server);
}

void KubeRun::NotePod(const nlohmann::json& pod) {
  if (disruption) return;
  const reconcile::PodState state = reconcile::InspectPod(pod);
  const std::string who = base::StrCat("pod ", state.name, " of server ", state.server, " ");
  if (state.disruption) {
    disruption = {state.disruption->reason, who + state.disruption->message};
  } else if (state.ended) {
    pod_ended = true;  // The job controller deletes the others then.
  } else if (!state.deleted_at.empty() && !pod_ended && !removed) {
    disruption = {std::string(job::reason::kPodDeleted), who + "was deleted"};
  }
}

job::JobStatus KubeRun::Status(std::int64_t now_ns) {
  job::JobStatus status;
  status.progress = run->progress(now_ns);
  status.prediction = run->Predict();
  status.prediction->diagnosis = diagnosis::Diagnose(*status.prediction, resolved.spec.command);
  status.simulation = run->cost(now_ns);
  status.start_time = start_time;
  return status;
}

std::string KubeRun::Recorded(std::int64_t now_ns) {
  if (recorded_job.is_null()) return "";
  return job::RecordingHead(recorded_job, job::ToJson(Status(now_ns)), resolved);
}

reconcile::RunFacts KubeRun::Facts(std::int64_t now_ns) {
  reconcile::RunFacts facts;
  facts.attempt = attempt;
  facts.placed = placed;
  facts.seen = placement_seen;
  facts.assembled = run.has_value();
  facts.admitted_s = (now_ns - admitted_ns) / 1'000'000'000;
  facts.refusal = refusal;
  facts.disruption = disruption;
  if (!run) return facts;
  facts.ending = run->IsEnding();
  facts.stop_reason = run->stop_reason();
  const job::JobStatus status = Status(now_ns);
  if (run->IsOver() && !AwaitsOutputs()) {
    facts.verdict = run->Judge();
    facts.ranks_differ_by = run->ranks_differ_by();
    facts.warnings = job::MemoryWarnings(resolved.fold, status.prediction->memory);
  }
  nlohmann::json all = job::ToJson(status);
  if (kept) {
    facts.warnings.insert(facts.warnings.end(), kept->warnings.begin(), kept->warnings.end());
    if (kept->path) all["prediction"]["criticalPath"] = job::ToJson(*kept->path);
    if (kept->timeline_bytes) {
      facts.parts["timeline"] = {{"bytes", *kept->timeline_bytes}, {"controller", rest_address}};
    }
    if (kept->recording_bytes) {
      facts.parts["recording"] = {{"bytes", *kept->recording_bytes}, {"controller", rest_address}};
    }
  }
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
                                   .master_port = kMasterPort,
                                   .sent_output_bytes_max = output_bytes_max};
  job::JobSpec& spec = assignment.resolved.spec;
  const bool code = !spec.code_config_map.empty() || !spec.code_claim.empty();
  if (spec.working_directory.empty() && code) spec.working_directory = reconcile::kCodeFolder;
  // The program's server, where its pod has another number.
  const auto own = std::ranges::find(spec.environment, kIndexVariable, &Variable::first);
  if (resolved.fold.is_folded() && own == spec.environment.end()) {
    spec.environment.emplace_back(kIndexVariable, base::StrCat(server));
  }
  return assignment;
}

}  // namespace eidolon::controller::kube_host
