// Reconciling is level-based: an event only puts a key into the queue, which gives a key to one
// worker at a time. The worker observes everything anew, a pure function plans, and Apply writes
// the status before it creates or removes objects, so that no decision is taken twice. Watches lag
// behind writes: an object older than our last write of it is left for a moment (IsBehind). Runs
// exist in memory only, since agents' streams cannot be handed over; a new leader begins their jobs
// again. Calls to the API server are made without the lock of the runs. Progress is written every 5
// s at most, to spare etcd.
#include "services/controller/kube_host/kube_controller.h"

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/job/cluster.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/metadata.h"
#include "services/controller/job/recorded_job.h"
#include "services/controller/kube_host/children.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/place/token.h"
#include "services/controller/reconcile/objects.h"

namespace eidolon::controller::kube_host {
namespace {

using base::Level;
using base::Log;
using base::StrCat;
using nlohmann::json;
using reconcile::ClassifyRefusal;

constexpr char kOurs[] = "app.kubernetes.io/managed-by=eidolon-controller";
constexpr std::size_t kTokenBytes = 16;
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kStepNs = kSecondNs / 2;
constexpr std::int64_t kStatusNs = 5 * kSecondNs;
// Time until the watch has brought what was just written.
constexpr std::int64_t kBehindNs = kSecondNs / 20;
// What was refused is tried again; pods that do not come are asked after.
constexpr std::int64_t kAskAgainNs = 3 * kSecondNs;

// Conditions but for their words, which change as progress does.
json StandsOf(const json& status) {
  json stands = json::array();
  for (const json& condition : status.value("conditions", json::array())) {
    stands.push_back({condition["type"], condition["status"], condition["reason"]});
  }
  return stands;
}

kube::Refusal Refused(const base::Error& error) {
  return {.status = 0, .reason = "ServiceLost", .message = error.message, .details = {}};
}

}  // namespace

KubeController::KubeController(KubeControllerOptions options, KubeControllerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      queue_(parts_.clock),
      jobs_({kube::kSimulationJobs, options_.name_space, ""}, &parts_.client,
            [this](const json& object) {
              Add("job", object);
              AddSweep(object);
            }),
      clusters_({kube::kSimulatedClusters, options_.name_space, ""}, &parts_.client,
                [this](const json& object) {
                  Add("cluster", object);
                  admission_.LookAtWaiting();
                }),
      sweeps_({kube::kSimulationSweeps, options_.name_space, ""}, &parts_.client,
              [this](const json& object) { Add("sweep", object); }),
      placed_({kube::kJobs, options_.name_space, kOurs}, &parts_.client,
              [this](const json& object) { AddOwner(object); }),
      pods_({kube::kPods, options_.name_space, kOurs}, &parts_.client,
            [this](const json& object) {
              NotePod(object);
              AddOwner(object);
            }),
      deployments_({kube::kDeployments, options_.name_space, kOurs}, &parts_.client,
                   [this](const json& object) { AddOwner(object); }),
      simulators_(parts_.clock, parts_.find_simulators),
      status_(parts_.clock, parts_.client, parts_.metrics, options_.settings.agents_address),
      sweep_reconciler_(parts_.clock, parts_.client, sweeps_, jobs_, status_, parts_.metrics),
      admission_(options_.jobs_max, parts_.clock, jobs_, runs_, parts_.metrics,
                 [this](const json& job) { Add("job", job); }),
      agents_({.clock = parts_.clock,
               .reviews = parts_.reviews,
               .metrics = parts_.metrics,
               .placed = placed_,
               .pods = pods_,
               .runs = runs_,
               .changed = [this](const kube::ObjectKey& job) { queue_.Add(TextOf("job", job)); }}) {
}

KubeController::~KubeController() { Stop(); }

void KubeController::Start() {
  for (kube::Informer* informer : {&jobs_, &clusters_, &sweeps_, &placed_, &pods_, &deployments_}) {
    informer->Start();
  }
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

void KubeController::Stop() {
  if (!runs_.Close()) return;
  queue_.Stop();
  for (std::thread& worker : workers_) worker.join();
  for (kube::Informer* informer : {&jobs_, &clusters_, &sweeps_, &placed_, &pods_, &deployments_}) {
    informer->Stop();
  }
}

// Not of sweeps: a cluster whose definitions are older has none.
bool KubeController::IsSynced() const {
  return jobs_.IsSynced() && clusters_.IsSynced() && placed_.IsSynced() && pods_.IsSynced() &&
         deployments_.IsSynced();
}

void KubeController::Add(const char* kind, const json& object) {
  queue_.Add(TextOf(kind, kube::KeyOf(object)));
}

void KubeController::AddSweep(const json& job) {
  const json labels = job["metadata"].value("labels", json::object());
  const std::string sweep = labels.value(sweep::kSweepLabel, "");
  if (!sweep.empty()) queue_.Add(TextOf("sweep", {kube::KeyOf(job).name_space, sweep}));
}

void KubeController::AddOwner(const json& object) {
  const json labels = object["metadata"].value("labels", json::object());
  const std::string name_space = object["metadata"].value("namespace", "");
  if (labels.contains(reconcile::kJobLabel)) {
    queue_.Add(TextOf("job", {name_space, labels[reconcile::kJobLabel]}));
  }
  if (labels.contains(reconcile::kClusterLabel)) {
    queue_.Add(TextOf("cluster", {name_space, labels[reconcile::kClusterLabel]}));
    if (object["kind"] == "Deployment") admission_.LookAtWaiting();
  }
}

void KubeController::Work() {
  while (const auto key = queue_.Take()) {
    if (!IsSynced()) {
      queue_.Done(*key);
      queue_.AddAfter(*key, kSecondNs / 10);
      continue;
    }
    const Done done = Reconcile(*key);
    parts_.metrics.CountReconcile(done.has_value());
    CountRequests();
    if (done) {
      queue_.Done(*key);
      continue;
    }
    // Another writer was quicker, or the API server is busy: both pass.
    if (!done.error().IsConflict()) {
      Log(Level::kWarning, "reconcile_failed",
          {{"object", *key}, {"reason", done.error().message}});
    }
    queue_.Failed(*key);
  }
}

void KubeController::CountRequests() {
  const std::lock_guard lock(counting_);
  const std::uint64_t requests = parts_.client.requests();
  parts_.metrics.CountApiRequests(requests - requests_counted_);
  requests_counted_ = requests;
}

KubeController::Done KubeController::Reconcile(const std::string& key) {
  const auto parts = base::Split(key, '/');
  const kube::ObjectKey object = {std::string(parts[1]), std::string(parts[2])};
  if (parts[0] == "sweep") return ReconcileSweep(object);
  return parts[0] == "job" ? ReconcileJob(object) : ReconcileCluster(object);
}

KubeController::Done KubeController::ReconcileSweep(const kube::ObjectKey& key) {
  const auto next = sweep_reconciler_.Reconcile(key);
  if (!next) return std::unexpected(next.error());
  if (*next == SweepReconciler::Next::kNothing) return {};
  const bool soon = *next == SweepReconciler::Next::kSoon;
  queue_.AddAfter(TextOf("sweep", key), soon ? kBehindNs : kAskAgainNs);
  return {};
}

KubeController::Done KubeController::ReconcileCluster(const kube::ObjectKey& key) {
  const kube::ObjectPointer cluster = clusters_.Find(key);
  if (cluster == nullptr) {
    status_.Forget(std::string(job::kClusterKind), key);
    return {};
  }
  const auto network = deployments_.Find(
      {key.name_space, reconcile::NetworkNameOf(std::string(job::kClusterKind), key.name)});
  reconcile::ObservedCluster observed{.cluster = *cluster,
                                      .network = std::nullopt,
                                      .gpus = simulators_.KnownGpus(),
                                      .now_unix_ns = parts_.clock.UnixNs()};
  if (network != nullptr && OwnerUidOf(*network) == UidOf(*cluster)) observed.network = *network;
  reconcile::Plan plan = reconcile::ReconcileCluster(observed, options_.settings);
  const auto refused = ApplyNetwork(plan.apply);
  if (!refused) return std::unexpected(refused.error());
  if (!refused->empty()) {
    observed.refused = *refused;
    plan = reconcile::ReconcileCluster(observed, options_.settings);
    queue_.AddAfter(TextOf("cluster", key), kAskAgainNs);
  }
  if (plan.status) return status_.Write(*cluster, *plan.status);
  return {};
}

kube::Answer<std::string> KubeController::ApplyNetwork(const std::vector<json>& objects) {
  for (const json& object : objects) {
    const auto applied = ApplyChild(&parts_.client, object);
    if (applied) continue;
    if (!ClassifyRefusal(applied.error().status, applied.error().message)) {
      return std::unexpected(applied.error());
    }
    return applied.error().message;
  }
  return "";
}

reconcile::ObservedJob KubeController::Observe(const json& job) {
  const kube::ObjectKey key = kube::KeyOf(job);
  reconcile::ObservedJob seen;
  seen.job = job;
  seen.now_unix_ns = parts_.clock.UnixNs();
  const json reference = job["spec"].value("clusterRef", json::object());
  const std::string cluster = reference.value("name", "");
  if (!cluster.empty()) {
    const auto found = clusters_.Find({key.name_space, cluster});
    if (found != nullptr) seen.cluster = *found;
  }
  const std::string network =
      cluster.empty() ? reconcile::NetworkNameOf(std::string(job::kJobKind), key.name)
                      : reconcile::NetworkNameOf(std::string(job::kClusterKind), cluster);
  const std::string uid = UidOf(job);
  const std::string network_owner = cluster.empty() ? uid
                                    : seen.cluster  ? UidOf(*seen.cluster)
                                                    : "";
  if (const auto found = deployments_.Find({key.name_space, network});
      found != nullptr && !network_owner.empty() && OwnerUidOf(*found) == network_owner) {
    seen.network = *found;
  }
  if (const auto found = placed_.Find(key); found != nullptr && OwnerUidOf(*found) == uid) {
    seen.placed = *found;
    const std::string placed_uid = UidOf(*found);
    for (const auto& pod : pods_.List([&](const json& object) {
           return kube::KeyOf(object).name_space == key.name_space &&
                  OwnerUidOf(object) == placed_uid;
         })) {
      seen.pods.push_back(*pod);
    }
  }
  seen.gpus = simulators_.KnownGpus();
  const RunRegistry::View runs(runs_);
  const auto run = runs.Find(uid);
  if (run == nullptr) return seen;
  if (run->placed && seen.placed) {
    run->placement_seen = UidOf(*seen.placed) == run->placed_uid || run->placement_seen;
    // Of an earlier attempt, or somebody else's: nothing of it is news of this run.
    if (UidOf(*seen.placed) != run->placed_uid) {
      seen.placed.reset();
      seen.pods.clear();
    }
  }
  seen.run = run->Facts(parts_.clock.MonotonicNs());
  return seen;
}

void KubeController::KeepOutputs(const std::string& uid) {
  std::shared_ptr<KubeRun> run;
  std::string recorded;
  {
    const RunRegistry::View runs(runs_);
    run = runs.Find(uid);
    if (run == nullptr || !run->AwaitsOutputs()) return;
    recorded = run->Recorded(parts_.clock.MonotonicNs());
  }
  // Without the lock of all runs: it waits for the disk. No other worker has this job now.
  outputs::RunOutputs::Kept kept = run->outputs->Keep(run->agent_servers, recorded);
  const RunRegistry::View runs(runs_);
  run->kept = std::move(kept);
}

KubeController::Done KubeController::ReconcileJob(const kube::ObjectKey& key) {
  const kube::ObjectPointer job = jobs_.Find(key);
  // Runs whose job is gone, or was replaced by another of the same name.
  for (const std::string& uid : runs_.UidsBut(key, job == nullptr ? "" : UidOf(*job))) {
    DropRun(uid);
  }
  if (job == nullptr) {
    parts_.metrics.ForgetJob(key.name_space, key.name);
    parts_.outputs.Remove(key.name_space, key.name);
    status_.Forget(std::string(job::kJobKind), key);
    admission_.LookAtWaiting();
    return {};
  }
  if (status_.IsBehind(*job)) {
    queue_.AddAfter(TextOf("job", key), kBehindNs);
    return {};
  }
  KeepOutputs(UidOf(*job));
  reconcile::ObservedJob seen = Observe(*job);
  if (!IsOver(*job)) seen.admission = admission_.Ask(*job);
  LookForRefusal(seen);
  reconcile::Plan plan = reconcile::ReconcileJob(seen, options_.settings);
  // Before it has a run, a job gets a network service of its own, and nothing else.
  if (!seen.run) {
    auto refused = ApplyNetwork(plan.apply);
    if (!refused) return std::unexpected(refused.error());
    plan.apply.clear();
    if (!refused->empty()) {
      seen.refused = std::move(*refused);
      plan = reconcile::ReconcileJob(seen, options_.settings);
      plan.apply.clear();
    }
  }
  return Apply(*job, std::move(plan));
}

KubeController::Done KubeController::Apply(const json& object, reconcile::Plan plan) {
  const kube::ObjectKey key = kube::KeyOf(object);
  const std::string uid = UidOf(object);
  StepRun(object, plan.exits);
  if (plan.run == reconcile::RunStep::kStart) {
    if (Done started = StartRun(object, std::move(plan)); !started) return started;
    queue_.Add(TextOf("job", key));
    return {};
  }
  bool later = false;
  if (plan.status) {
    // Transitions are written at once, progress now and then: etcd is not a time series database.
    const bool news = !plan.events.empty() || plan.run != reconcile::RunStep::kNone ||
                      StandsOf(object.value("status", json::object())) != StandsOf(*plan.status);
    const std::int64_t now_ns = parts_.clock.MonotonicNs();
    {
      const RunRegistry::View runs(runs_);
      if (const auto run = runs.Find(uid)) {
        later = !news && now_ns - run->status_written_ns < kStatusNs;
        if (!later) run->status_written_ns = now_ns;
      }
    }
    if (!later) {
      if (Done written = status_.Write(object, *plan.status); !written) return written;
    }
  }
  for (const reconcile::Transition& transition : plan.events) {
    status_.RecordEvent(object, transition);
  }
  // What has been written is not judged again, whatever becomes of the rest.
  if (plan.run == reconcile::RunStep::kDrop) {
    DropRun(uid);
    admission_.LookAtWaiting();
  }
  if (Done placed = Place(object, plan.apply); !placed) return placed;
  for (const reconcile::Deletion& deletion : plan.remove) {
    if (Done removed = Remove(key.name_space, deletion); !removed) return removed;
  }
  if (plan.status && IsOver({{"status", *plan.status}}) && !IsOver(object)) {
    const json& status = *plan.status;
    std::string why, message;
    for (const json& condition : status["conditions"]) {
      if (condition["type"] != status["phase"]) continue;
      why = condition["reason"].get<std::string>();
      message = condition.value("message", "");
    }
    parts_.metrics.FinishJob(key.name_space, key.name, status["phase"], why, message);
    const json none = json::object();
    parts_.metrics.AddCost(
        {.wall_seconds = status.value("simulation", none).value("wallSeconds", 0.0),
         .slowdown = std::nullopt},
        status.value("progress", none).value("virtualSeconds", 0.0));
    admission_.LookAtWaiting();
  }
  if (plan.remove_itself) {
    return parts_.client.Delete(kube::kSimulationJobs, key, kube::Propagation::kBackground, uid);
  }
  if (plan.look_again_s) {
    queue_.AddAfter(TextOf("job", key), *plan.look_again_s * kSecondNs);
  }
  const RunRegistry::View runs(runs_);
  if (runs.Find(uid) != nullptr) queue_.AddAfter(TextOf("job", key), kStepNs);
  return {};
}

KubeController::Done KubeController::Remove(const std::string& name_space,
                                            const reconcile::Deletion& deletion) {
  const json named = {{"apiVersion", deletion.api_version}, {"kind", deletion.kind}};
  const auto removed = parts_.client.Delete(
      kube::ResourceOf(named), {name_space, deletion.name},
      deletion.in_background ? kube::Propagation::kBackground : kube::Propagation::kForeground,
      deletion.uid);
  // Another object of this name is not what was meant.
  if (!removed && !removed.error().IsConflict()) return removed;
  return {};
}

void KubeController::PrepareOutputs(const json& object, KubeRun* run) {
  const job::JobSpec& spec = run->resolved.spec;
  const outputs::RunOutputs::Wanted wanted = {.timeline = spec.timeline.iterations > 0,
                                              .recording = spec.recording};
  if (!wanted.timeline && !wanted.recording) return;
  run->outputs = std::make_shared<outputs::RunOutputs>(
      &parts_.outputs, outputs::JobId{run->key.name_space, run->key.name, run->uid}, wanted);
  run->output_bytes_max = parts_.outputs.job_bytes_max();
  run->rest_address = options_.rest_address;
  if (!wanted.recording) return;
  json cluster;
  if (!spec.cluster_name.empty()) cluster = job::ToJson(run->resolved.cluster);
  run->recorded_job =
      job::RecordedJob({{"apiVersion", object["apiVersion"]},
                        {"kind", object["kind"]},
                        {"metadata", {{"namespace", run->key.name_space}, {"name", run->key.name}}},
                        {"spec", object["spec"]}},
                       cluster);
}

KubeController::Done KubeController::StartRun(const json& object, reconcile::Plan plan) {
  const kube::ObjectKey key = kube::KeyOf(object);
  const std::string& cluster = plan.resolved.spec.cluster_name;
  const std::string network =
      cluster.empty() ? reconcile::NetworkNameOf(std::string(job::kJobKind), key.name)
                      : reconcile::NetworkNameOf(std::string(job::kClusterKind), cluster);
  auto run = std::make_shared<KubeRun>();
  run->resolved = std::move(plan.resolved);
  run->agent_servers = run->resolved.AgentServers();
  run->key = key;
  run->uid = UidOf(object);
  run->attempt = plan.attempt;
  run->admitted_ns = parts_.clock.MonotonicNs();
  run->simulators = simulators_.At(reconcile::NetworkAddress(network, key.name_space));
  run->network_job =
      StrCat(key.name_space, "/", key.name, "/", plan.attempt, "/", place::MakeToken(kTokenBytes));
  PrepareOutputs(object, run.get());
  const auto peak_flops = run->simulators->FindPeakFlops(run->resolved.cluster.gpu);
  if (!peak_flops) return std::unexpected(Refused(peak_flops.error()));
  run->peak_flops = *peak_flops;
  const auto registered = run->simulators->RegisterJob(run->network_job, run->resolved);
  if (!registered) return std::unexpected(Refused(registered.error()));
  Log(Level::kInfo, "job_starting",
      {{"namespace", key.name_space}, {"job", key.name}, {"attempt", StrCat(plan.attempt)}});
  runs_.Add(std::move(run));
  return {};
}

void KubeController::DropRun(const std::string& uid) {
  const std::shared_ptr<KubeRun> run = runs_.Take(uid);
  admission_.Release(uid);
  if (run == nullptr) return;
  for (const auto& [server, link] : run->links) link->SendStop("the job is over");
  run->simulators->RemoveJob(run->network_job);
}

void KubeController::StepRun(const json& object, const std::vector<reconcile::AgentExit>& exits) {
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  job::Order order = job::Order::kNone;
  std::vector<std::shared_ptr<agents::AgentLink>> links;
  std::string why, placed_uid;
  {
    const RunRegistry::View runs(runs_);
    const auto found = runs.Find(UidOf(object));
    if (found == nullptr || !found->run) return;
    KubeRun& run = *found;
    for (const reconcile::AgentExit& exit : exits) {
      if (!exit.memory_kill.empty()) run.run->NoteMemoryKill(exit.server, exit.memory_kill);
      run.run->Exited(exit.server, exit.how, now_ns);
    }
    order = run.run->Step(now_ns);
    why = run.run->stop_reason();
    placed_uid = run.placed_uid;
    for (const auto& [server, link] : run.links) links.push_back(link);
    if (order > job::Order::kStop) run.removed = true;
    const job::JobStatus status = run.Status(now_ns);
    const auto& [name_space, name] = run.key;
    parts_.metrics.SetPrediction(name_space, name, *status.prediction);
    parts_.metrics.SetProgress(name_space, name, *status.progress, *status.simulation);
    if (run.run->IsRunning()) parts_.metrics.SetRunning(name_space, name);
  }
  if (order == job::Order::kNone) return;
  queue_.Add(TextOf("job", kube::KeyOf(object)));
  // An agent without a link has told its outcome and ends: to remove its pod would remove its log.
  if (order == job::Order::kStop) {
    for (const auto& link : links) link->SendStop(why);
    return;
  }
  const auto removed = parts_.client.Delete(kube::kJobs, kube::KeyOf(object),
                                            kube::Propagation::kForeground, placed_uid);
  if (!removed) Log(Level::kWarning, "pods_not_ended", {{"reason", removed.error().message}});
}

}  // namespace eidolon::controller::kube_host
