#include "services/controller/kube_host/kube_controller.h"

#include "services/base/log.h"
#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/metadata.h"
#include "services/controller/reconcile/objects.h"
#include "services/controller/reconcile/turns.h"

namespace eidolon::controller::kube_host {
namespace {

using base::Level;
using base::Log;
using base::StrCat;
using nlohmann::json;

constexpr char kOurs[] = "app.kubernetes.io/managed-by=eidolon-controller";
constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kGpusNs = 30 * kSecondNs;

}  // namespace

std::string TextOf(const char* kind, const kube::ObjectKey& key) {
  return StrCat(kind, "/", key.name_space, "/", key.name);
}

std::string UidOf(const json& object) { return object["metadata"].value("uid", ""); }

bool IsOver(const json& job) {
  const std::string phase = job.value("status", json::object()).value("phase", "");
  return phase == "Complete" || phase == "Failed" || phase == "Interrupted";
}

std::string OwnerUidOf(const json& object) {
  for (const json& owner : object["metadata"].value("ownerReferences", json::array())) {
    if (owner.value("controller", false)) return owner.value("uid", "");
  }
  return "";
}

KubeController::KubeController(KubeControllerOptions options, KubeControllerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      queue_(parts_.clock),
      jobs_({kube::kSimulationJobs, options_.name_space, ""}, &parts_.client,
            [this](const json& object) { Add("job", object); }),
      clusters_({kube::kSimulatedClusters, options_.name_space, ""}, &parts_.client,
                [this](const json& object) {
                  Add("cluster", object);
                  LookAtWaiting();
                }),
      placed_({kube::kJobs, options_.name_space, kOurs}, &parts_.client,
              [this](const json& object) { AddOwner(object); }),
      pods_({kube::kPods, options_.name_space, kOurs}, &parts_.client,
            [this](const json& object) { AddOwner(object); }),
      deployments_({kube::kDeployments, options_.name_space, kOurs}, &parts_.client,
                   [this](const json& object) { AddOwner(object); }) {}

KubeController::~KubeController() { Stop(); }

void KubeController::Start() {
  for (kube::Informer* informer : {&jobs_, &clusters_, &placed_, &pods_, &deployments_}) {
    informer->Start();
  }
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

void KubeController::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    assembled_.notify_all();
  }
  queue_.Stop();
  for (std::thread& worker : workers_) worker.join();
  for (kube::Informer* informer : {&jobs_, &clusters_, &placed_, &pods_, &deployments_}) {
    informer->Stop();
  }
}

bool KubeController::IsSynced() const {
  return jobs_.IsSynced() && clusters_.IsSynced() && placed_.IsSynced() && pods_.IsSynced() &&
         deployments_.IsSynced();
}

void KubeController::Add(const char* kind, const json& object) {
  queue_.Add(TextOf(kind, kube::KeyOf(object)));
}

void KubeController::AddOwner(const json& object) {
  const json labels = object["metadata"].value("labels", json::object());
  const std::string name_space = object["metadata"].value("namespace", "");
  if (labels.contains(reconcile::kJobLabel)) {
    queue_.Add(TextOf("job", {name_space, labels[reconcile::kJobLabel]}));
  }
  if (labels.contains(reconcile::kClusterLabel)) {
    queue_.Add(TextOf("cluster", {name_space, labels[reconcile::kClusterLabel]}));
    if (object["kind"] == "Deployment") LookAtWaiting();
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
  const std::lock_guard lock(mutex_);
  const std::uint64_t requests = parts_.client.requests();
  parts_.metrics.CountApiRequests(requests - requests_counted_);
  requests_counted_ = requests;
}

KubeController::Done KubeController::Reconcile(const std::string& key) {
  const auto parts = base::Split(key, '/');
  const kube::ObjectKey object = {std::string(parts[1]), std::string(parts[2])};
  return parts[0] == "job" ? ReconcileJob(object) : ReconcileCluster(object);
}

KubeController::Done KubeController::ReconcileCluster(const kube::ObjectKey& key) {
  const kube::ObjectPointer cluster = clusters_.Find(key);
  if (cluster == nullptr) {
    const std::lock_guard lock(mutex_);
    NoteWrite(std::string(job::kClusterKind), key, true);
    return {};
  }
  const auto network = deployments_.Find(
      {key.name_space, reconcile::NetworkNameOf(std::string(job::kClusterKind), key.name)});
  reconcile::ObservedCluster observed{.cluster = *cluster,
                                      .network = std::nullopt,
                                      .gpus = KnownGpus(),
                                      .now_unix_ns = parts_.clock.UnixNs()};
  if (network != nullptr) observed.network = *network;
  reconcile::Plan plan = reconcile::ReconcileCluster(observed, options_.settings);
  for (const json& object : plan.apply) {
    const auto applied = parts_.client.Apply(object);
    if (!applied) return std::unexpected(applied.error());
  }
  if (plan.status) return WriteStatus(*cluster, *plan.status);
  return {};
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
  if (const auto found = deployments_.Find({key.name_space, network})) seen.network = *found;
  const std::string uid = UidOf(job);
  if (const auto found = placed_.Find(key); found != nullptr && OwnerUidOf(*found) == uid) {
    seen.placed = *found;
    const std::string placed_uid = UidOf(*found);
    for (const auto& pod :
         pods_.List([&](const json& object) { return OwnerUidOf(object) == placed_uid; })) {
      seen.pods.push_back(*pod);
    }
  }
  seen.gpus = KnownGpus();
  const std::lock_guard lock(mutex_);
  const auto run = runs_.find(uid);
  if (run == runs_.end()) return seen;
  if (run->second->placed && seen.placed) run->second->placement_seen = true;
  seen.run = run->second->Facts(parts_.clock.MonotonicNs());
  seen.pods_refused = run->second->pods_refused;
  return seen;
}

KubeController::Done KubeController::ReconcileJob(const kube::ObjectKey& key) {
  const kube::ObjectPointer job = jobs_.Find(key);
  {
    // Runs whose job is gone, or was replaced by another of the same name.
    std::vector<std::string> gone;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [uid, run] : runs_) {
        if (run->key == key && (job == nullptr || UidOf(*job) != uid)) gone.push_back(uid);
      }
    }
    for (const std::string& uid : gone) DropRun(uid);
  }
  if (job == nullptr) {
    {
      const std::lock_guard lock(mutex_);
      parts_.metrics.ForgetJob(key.name_space, key.name);
      NoteWrite(std::string(job::kJobKind), key, true);
    }
    LookAtWaiting();
    return {};
  }
  reconcile::ObservedJob seen = Observe(*job);
  if (!IsOver(*job)) seen.turn = TakeTurn(*job);
  return Carry(*job, reconcile::ReconcileJob(seen, options_.settings));
}

std::vector<kube::ObjectPointer> KubeController::QueuedJobs() const {
  return jobs_.List([](const json& object) {
    return !IsOver(object) && !object["metadata"].contains("deletionTimestamp") &&
           !object["spec"].value("suspend", false);
  });
}

std::map<std::string, reconcile::Turn> KubeController::TurnsOf(
    const std::vector<kube::ObjectPointer>& jobs) {
  std::set<std::string> uids;
  for (const auto& object : jobs) uids.insert(UidOf(*object));
  std::erase_if(admitted_, [&](const std::string& uid) { return !uids.contains(uid); });
  std::vector<reconcile::QueuedJob> all;
  for (const auto& object : jobs) {
    const std::string uid = UidOf(*object);
    const json status = object->value("status", json::object());
    const bool active = admitted_.contains(uid) || runs_.contains(uid) ||
                        status.value("phase", "") == job::Name(job::Phase::kRunning);
    all.push_back({.key = uid,
                   .name_space = (*object)["metadata"].value("namespace", ""),
                   .created = (*object)["metadata"].value("creationTimestamp", ""),
                   .active = active});
  }
  return reconcile::ComputeTurns(all, options_.jobs_max);
}

reconcile::Turn KubeController::TakeTurn(const json& job) {
  const std::string own = UidOf(job);
  const auto jobs = QueuedJobs();
  const std::lock_guard lock(mutex_);
  const auto turns = TurnsOf(jobs);
  const auto found = turns.find(own);
  if (found == turns.end()) return {.granted = false};
  if (found->second.granted) admitted_.insert(own);
  parts_.metrics.SetQueue(jobs.size() - found->second.running, found->second.running);
  return found->second;
}

void KubeController::LookAtWaiting() {
  const auto jobs = QueuedJobs();
  std::map<std::string, reconcile::Turn> turns;
  {
    const std::lock_guard lock(mutex_);
    turns = TurnsOf(jobs);
  }
  // Those far behind in the queue are looked at when they come nearer.
  const std::size_t near = 4 * options_.jobs_max;
  for (const auto& object : jobs) {
    if (object->value("status", json::object()).value("phase", "Pending") != "Pending") continue;
    const reconcile::Turn& turn = turns.at(UidOf(*object));
    if (turn.granted || turn.before < near) Add("job", *object);
  }
}

std::optional<std::vector<std::string>> KubeController::KnownGpus() {
  const std::int64_t now_ns = parts_.clock.MonotonicNs();
  {
    const std::lock_guard lock(mutex_);
    if (!gpus_.empty() && now_ns - gpus_asked_ns_ < kGpusNs) return gpus_;
  }
  auto names = SimulatorsOf("")->ListGpus();
  const std::lock_guard lock(mutex_);
  if (!names) return std::nullopt;
  gpus_ = std::move(*names);
  gpus_asked_ns_ = now_ns;
  return gpus_;
}

std::shared_ptr<Simulators> KubeController::SimulatorsOf(const std::string& network) {
  const std::lock_guard lock(mutex_);
  auto& simulators = simulators_[network];
  if (simulators == nullptr) simulators = parts_.find_simulators(network);
  return simulators;
}

}  // namespace eidolon::controller::kube_host
