// Every replica answers from the API server, which holds all state but the files of jobs. Gets and
// lists go to it directly, so a client sees its own writes; the informer's copy serves those who
// wait for changes. An Idempotency-Key becomes a label as a hash, because keys may have characters
// and lengths that labels may not, and the digest of the body an annotation. Without a name in the
// document the name follows from the key, so of two equal requests at one moment the API server
// lets one create. Logs are merged by timestamps and end one second ago: lines of other pods may
// still be on their way until then.
#include "services/controller/kube_host/kube_api.h"

#include <algorithm>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/job.h"
#include "services/controller/job/object_size.h"
#include "services/controller/job/summary.h"
#include "services/controller/kube/lease.h"
#include "services/controller/kube_host/api_objects.h"
#include "services/controller/kube_host/object_text.h"
#include "services/controller/kube_host/pod_logs.h"
#include "services/controller/reconcile/plan.h"
#include "services/controller/reconcile/pod_state.h"

namespace eidolon::controller::kube_host {
namespace {

using base::ErrorCode;
using base::StrCat;
using nlohmann::json;
using rest::ApiError;
using rest::ApiResult;
using rest::ObjectName;

constexpr char kKeyLabel[] = "eidolon.dev/idempotency-key";
constexpr char kDigestAnnotation[] = "eidolon.dev/request-digest";
constexpr char kServerContainer[] = "server";
constexpr std::int64_t kSettledNs = 1'000'000'000;

std::string KeyLabelOf(const rest::IdempotencyKey& key) {
  const base::Digest digest = base::Hash128(key.key.data(), key.key.size());
  return StrCat("k", digest.high, "-", digest.low);
}

}  // namespace

KubeApi::KubeApi(std::string name_space, KubeApiParts parts)
    : name_space_(std::move(name_space)),
      parts_(std::move(parts)),
      users_(&parts_.reviews),
      jobs_({kube::kSimulationJobs, name_space_, ""}, &parts_.client,
            [this](const json&) {
              const std::lock_guard lock(mutex_);
              changed_.notify_all();
            }),
      sweeps_(name_space_, &parts_.client, &users_) {}

KubeApi::~KubeApi() { Stop(); }

void KubeApi::Start() {
  jobs_.Start();
  sweeps_.Start();
}

void KubeApi::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  jobs_.Stop();
  sweeps_.Stop();
}

ApiResult<std::optional<rest::Created>> KubeApi::FindRepeated(const std::string& name_space,
                                                              const rest::IdempotencyKey& key) {
  const auto found = parts_.client.List(kube::kSimulationJobs, name_space,
                                        StrCat(kKeyLabel, "=", KeyLabelOf(key)));
  if (!found) return Refuse(found.error());
  if (found->items.empty()) return std::nullopt;
  const json& job = found->items.front();
  const json annotations = job["metadata"].value("annotations", json::object());
  if (annotations.value(kDigestAnnotation, "") != key.body_digest) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "the Idempotency-Key '" + key.key + "' was used with another body");
  }
  return rest::Created{Shown(job), true};
}

ApiResult<rest::Created> KubeApi::CreateJob(const std::string& name_space, const json& document,
                                            const std::optional<rest::IdempotencyKey>& key,
                                            const rest::Writer& writer) {
  job::ParsedJob parsed = job::ParseJob(document, job::Mode::kKubernetes);
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  if (!parsed.problems.empty()) return RefuseDocument("simulation job", std::move(parsed.problems));
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  if (auto may = users_.CheckPodFields(*user, name_space, FindPodFields(document)); !may) {
    return std::unexpected(may.error());
  }
  json object = Prepared(document, name_space, job::kJobKind);
  if (key) {
    auto repeated = FindRepeated(name_space, *key);
    if (!repeated) return std::unexpected(repeated.error());
    if (*repeated) return **repeated;
    json& metadata = object["metadata"];
    metadata["labels"][kKeyLabel] = KeyLabelOf(*key);
    metadata["annotations"][kDigestAnnotation] = key->body_digest;
    // One name for one key: two requests at a time cannot both create.
    if (parsed.metadata.name.empty()) {
      const std::uint64_t hash = base::Hash64(key->key.data(), key->key.size());
      metadata["name"] = StrCat(parsed.metadata.generate_name, hash % 10'000'000'000);
      metadata.erase("generateName");
    }
  }
  const auto created = CreateObject(&parts_.client, kube::ToImpersonation(*user),
                                    kube::kSimulationJobs, std::move(object));
  if (created) return rest::Created{Shown(*created), false};
  if (key && created.error().reason == "AlreadyExists") {
    auto repeated = FindRepeated(name_space, *key);
    if (repeated && *repeated) return **repeated;
  }
  return Refuse(created.error());
}

ApiResult<std::vector<json>> KubeApi::ListJobs(const std::string& name_space) {
  return ListObjects(&parts_.client, kube::kSimulationJobs,
                     name_space.empty() ? name_space_ : name_space);
}

ApiResult<json> KubeApi::GetJob(const ObjectName& job) {
  return GetObject(&parts_.client, kube::kSimulationJobs, job);
}

ApiResult<json> KubeApi::DeleteJob(const ObjectName& job, const rest::Writer& writer) {
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  auto object =
      DeleteObject(&parts_.client, kube::ToImpersonation(*user), kube::kSimulationJobs, job);
  // The pods of a running job go after it.
  if (object && !IsOver(*object)) {
    (*object)["metadata"]["deletionTimestamp"] = base::FormatUtc(parts_.clock.UnixNs());
  }
  return object;
}

ApiResult<json> KubeApi::SetSuspend(const ObjectName& job, bool suspend,
                                    const rest::Writer& writer) {
  const auto present = GetJob(job);
  if (!present) return present;
  if (IsOver(*present)) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  "only a job that is not over can be suspended or resumed");
  }
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  return PatchObject(&parts_.client, kube::ToImpersonation(*user), kube::kSimulationJobs, job,
                     {{"spec", {{"suspend", suspend}}}});
}

ApiResult<rest::JobChange> KubeApi::AwaitChange(const ObjectName& job, std::int64_t after,
                                                std::chrono::milliseconds timeout) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] {
      if (stopping_) return true;
      const auto found = jobs_.Find(KeyOf(job));
      return found == nullptr || VersionOf(*found) > after;
    });
    if (stopping_) return Refuse(ErrorCode::kUnavailable, "the controller is being stopped");
  }
  const auto found = jobs_.Find(KeyOf(job));
  if (found != nullptr) return rest::JobChange{Shown(*found), VersionOf(*found), IsOver(*found)};
  // The job is too young for our copy, or gone.
  const auto present = GetJob(job);
  if (!present) return std::unexpected(present.error());
  return rest::JobChange{*present, VersionOf(*present), IsOver(*present)};
}

ApiResult<rest::ListChange> KubeApi::AwaitJobs(const std::string& name_space, std::int64_t after,
                                               std::size_t known,
                                               std::chrono::milliseconds timeout) {
  const auto is_asked_for = [&](const json& object) {
    return name_space.empty() || object["metadata"].value("namespace", "") == name_space;
  };
  std::vector<kube::ObjectPointer> objects;
  const auto has_changed = [&] {
    objects = jobs_.List(is_asked_for);
    const auto is_new = [&](const auto& object) { return VersionOf(*object) > after; };
    return stopping_ || objects.size() != known || std::ranges::any_of(objects, is_new);
  };
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, has_changed);
    if (stopping_) return Refuse(ErrorCode::kUnavailable, "the controller is being stopped");
  }
  rest::ListChange change = {.changed = {}, .present = {}, .version = after};
  for (const kube::ObjectPointer& object : objects) {
    const json& metadata = (*object)["metadata"];
    change.present.insert(StrCat(metadata.value("namespace", ""), "/", metadata.value("name", "")));
    const std::int64_t version = VersionOf(*object);
    if (version <= after) continue;
    change.version = std::max(change.version, version);
    change.changed.push_back(job::SummaryOf(*object, object->value("status", json::object())));
  }
  std::ranges::stable_sort(change.changed, {}, [](const json& object) {
    return object["metadata"].value("creationTimestamp", "");
  });
  return change;
}

kube::Answer<std::vector<json>> KubeApi::PodsOf(const json& job) {
  const std::string name = job["metadata"]["name"];
  const std::string name_space = job["metadata"]["namespace"];
  const auto placed = parts_.client.Get(kube::kJobs, {name_space, name});
  if (!placed) {
    if (placed.error().IsNotFound()) return std::vector<json>();
    return std::unexpected(placed.error());
  }
  // Somebody else's batch Job of the same name.
  if (OwnerUidOf(*placed) != UidOf(job)) return std::vector<json>();
  auto page = parts_.client.List(kube::kPods, name_space, StrCat(reconcile::kJobLabel, "=", name));
  if (!page) return std::unexpected(page.error());
  // Labels are anybody's; owners are looked at.
  std::erase_if(page->items, [&](const json& pod) { return OwnerUidOf(pod) != UidOf(*placed); });
  return std::move(page->items);
}

ApiResult<rest::LogPart> KubeApi::ReadLog(const ObjectName& job, std::uint64_t offset,
                                          std::chrono::milliseconds timeout) {
  if (offset > 0 && timeout.count() > 0) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, timeout, [&] { return stopping_; });
  }
  const auto object = GetJob(job);
  if (!object) return std::unexpected(object.error());
  const auto pods = PodsOf(*object);
  if (!pods) return Refuse(pods.error());
  std::vector<PodLog> logs;
  for (const json& pod : *pods) {
    auto text = parts_.client.ReadLog(kube::KeyOf(pod), kServerContainer, /*timestamps=*/true);
    // A pod that has not begun has no log.
    if (!text && text.error().status != 400 && !text.error().IsNotFound()) {
      return Refuse(text.error());
    }
    if (text) logs.push_back({reconcile::InspectPod(pod).server, std::move(*text)});
  }
  const bool over = IsOver(*object);
  const std::string until = over ? "" : kube::FormatMicroTime(parts_.clock.UnixNs() - kSettledNs);
  rest::LogPart part = MergeLogs(logs, offset, until);
  part.ended = over && part.entries.empty();
  return part;
}

ApiResult<rest::Output> KubeApi::FindTimeline(const ObjectName& job, const std::string& token) {
  const auto object = GetJob(job);
  if (!object) return std::unexpected(object.error());
  const json outputs = (*object)["spec"].value("outputs", json::object());
  return FindOutput(
      *object,
      {.kind = outputs::Kind::kTimeline,
       .what = "timeline",
       .is_kept = outputs.contains("timeline") && outputs["timeline"].value("iterations", 1) > 0,
       .field = "timeline: {iterations: 1}"},
      token);
}

ApiResult<rest::Output> KubeApi::FindRecording(const ObjectName& job, const std::string& token) {
  const auto object = GetJob(job);
  if (!object) return std::unexpected(object.error());
  const json outputs = (*object)["spec"].value("outputs", json::object());
  return FindOutput(*object,
                    {.kind = outputs::Kind::kRecording,
                     .what = "recording",
                     .is_kept = outputs.value("recording", false),
                     .field = "recording: true"},
                    token);
}

ApiResult<rest::Output> KubeApi::FindOutput(const json& object, const WantedFile& file,
                                            const std::string& token) {
  const kube::ObjectKey key = kube::KeyOf(object);
  if (!file.is_kept) {
    return Refuse(ErrorCode::kNotFound, StrCat("the job '", key.name, "' keeps no ", file.what,
                                               "; jobs with 'outputs: {", file.field, "}' do"));
  }
  if (!IsOver(object)) {
    return Refuse(ErrorCode::kFailedPrecondition,
                  StrCat("the ", file.what, " of '", key.name, "' is there when the job is over"));
  }
  if (auto path = parts_.outputs.Find({key.name_space, key.name, UidOf(object)}, file.kind)) {
    return rest::Output{.path = std::move(*path)};
  }
  const json& status = object["status"];
  if (!status.contains(file.what)) {
    std::string why;
    for (const json& warning : status.value("warnings", json::array())) {
      why += (why.empty() ? "" : "; ") + warning.get<std::string>();
    }
    return Refuse(ErrorCode::kNotFound, StrCat("the job '", key.name, "' has left no ", file.what,
                                               ": ", why.empty() ? "it never ran" : why));
  }
  const std::string keeper = status[file.what].value("controller", "");
  kube::Answer<bool> is_peer = false;
  if (keeper != parts_.rest_address) is_peer = parts_.peers.Has(keeper);
  if (!is_peer) return Refuse(is_peer.error());
  if (!*is_peer) {
    return Refuse(ErrorCode::kNotFound,
                  StrCat("the ", file.what, " of '", key.name, "' is not there any more: the ",
                         "controller at ", keeper, " kept it, as long as its pod lives and newer ",
                         "ones leave room"));
  }
  return FetchOutput({.controller = keeper, .what = file.what, .token = token},
                     {key.name_space, key.name}, &parts_.outputs);
}

ApiResult<json> KubeApi::CreateCluster(const std::string& name_space, const json& document,
                                       const rest::Writer& writer) {
  job::ParsedCluster parsed = job::ParseCluster(document);
  if (document.is_object()) {
    job::CheckSpecSize(document, job::kClusterSpecBytesMax, &parsed.problems);
  }
  CheckNamespace(name_space, parsed.metadata, &parsed.problems);
  if (!parsed.problems.empty()) {
    return RefuseDocument("simulated cluster", std::move(parsed.problems));
  }
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  auto created =
      CreateObject(&parts_.client, kube::ToImpersonation(*user), kube::kSimulatedClusters,
                   Prepared(document, name_space, job::kClusterKind));
  if (!created) return Refuse(created.error());
  return Shown(std::move(*created));
}

ApiResult<std::vector<json>> KubeApi::ListClusters(const std::string& name_space) {
  return ListObjects(&parts_.client, kube::kSimulatedClusters,
                     name_space.empty() ? name_space_ : name_space);
}

ApiResult<json> KubeApi::GetCluster(const ObjectName& cluster) {
  return GetObject(&parts_.client, kube::kSimulatedClusters, cluster);
}

ApiResult<json> KubeApi::DeleteCluster(const ObjectName& cluster, const rest::Writer& writer) {
  const auto user = users_.Find(writer);
  if (!user) return std::unexpected(user.error());
  return DeleteObject(&parts_.client, kube::ToImpersonation(*user), kube::kSimulatedClusters,
                      cluster);
}

base::Result<void> KubeApi::CheckReady() {
  if (jobs_.IsSynced()) return {};
  return base::Fail(ErrorCode::kUnavailable, "the API server has not been heard yet");
}

}  // namespace eidolon::controller::kube_host
