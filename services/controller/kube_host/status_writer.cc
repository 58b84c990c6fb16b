// A status that does not fit beside its spec would be refused at every try, for ever. The writer
// then stores a short status that says so, and remembers the generation, so that the object rests
// until its spec changes. written_ holds the version of the last write: a worker compares it with
// the informer's copy before it decides again. Conflicts are not counted as failures, since the
// object is looked at again. An event's name contains a hash of its content and time, as names of
// events have to be unique.
#include "services/controller/kube_host/status_writer.h"

#include "services/base/hash.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/base/utc.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/utf8.h"
#include "services/controller/kube/lease.h"
#include "services/controller/kube_host/object_text.h"

namespace eidolon::controller::kube_host {

using base::Level;
using base::Log;
using base::StrCat;
using nlohmann::json;

namespace {

constexpr std::size_t kNoteBytesMax = 1000;  // The API server takes 1024.

// Names an object as its spec is now.
std::string GenerationOf(const json& object) {
  return StrCat(UidOf(object), "/", object["metadata"].value("generation", std::int64_t{1}));
}

}  // namespace

kube::Answer<void> StatusWriter::Write(const json& object, const json& status) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = too_large_.find({object["kind"], kube::KeyOf(object)});
    if (found != too_large_.end() && found->second == GenerationOf(object)) return {};
  }
  const json change = {{"apiVersion", object["apiVersion"]},
                       {"kind", object["kind"]},
                       {"metadata",
                        {{"name", object["metadata"]["name"]},
                         {"namespace", object["metadata"]["namespace"]},
                         {"uid", object["metadata"]["uid"]}}},
                       {"status", status}};
  auto written = client_.ApplyStatus(change);
  if (!written && written.error().IsTooLarge()) {
    written = WriteTooLarge(object, change, written.error());
  }
  const bool done = written || written.error().IsNotFound();
  if (written) {
    const std::lock_guard lock(mutex_);
    written_[{object["kind"], kube::KeyOf(object)}] = VersionOf(*written);
  }
  // One that fails is looked at again, sooner or later; until then it is shown as it was.
  if (done || !written.error().IsConflict()) {
    const std::lock_guard lock(mutex_);
    NoteWrite(object["kind"], kube::KeyOf(object), done);
  }
  if (done) return {};
  return std::unexpected(written.error());
}

kube::Answer<json> StatusWriter::WriteTooLarge(const json& object, json change,
                                               const kube::Refusal& refusal) {
  const std::string message = StrCat(
      "the cluster cannot store the status of this object beside its spec (", refusal.message,
      "): shorten the spec, or put large parts into a ConfigMap or the ", "image");
  Log(Level::kError, "status_too_large",
      {{"namespace", kube::KeyOf(object).name_space},
       {"name", kube::KeyOf(object).name},
       {"reason", refusal.message}});
  RecordEvent(object,
              {.reason = std::string(job::reason::kTooLarge), .message = message, .warning = true});
  const std::int64_t generation = object["metadata"].value("generation", std::int64_t{1});
  const bool has_phase = change["status"].contains("phase");
  job::Conditions conditions;
  conditions.Set(
      {.type = std::string(has_phase ? job::condition::kFailed : job::condition::kAccepted),
       .value = has_phase,
       .reason = std::string(job::reason::kTooLarge),
       .message = message,
       .last_transition_time = base::FormatUtc(clock_.UnixNs()),
       .observed_generation = generation});
  json status = {{"observedGeneration", generation}, {"conditions", conditions.ToJson()}};
  if (has_phase) status["phase"] = job::Name(job::Phase::kFailed);
  change["status"] = std::move(status);
  auto written = client_.ApplyStatus(change);
  if (!written && !written.error().IsTooLarge()) return written;
  const std::lock_guard lock(mutex_);
  too_large_[{object["kind"], kube::KeyOf(object)}] = GenerationOf(object);
  return written ? written : object;
}

void StatusWriter::Forget(const std::string& kind, const kube::ObjectKey& key) {
  const std::lock_guard lock(mutex_);
  NoteWrite(kind, key, true);
  written_.erase({kind, key});
  too_large_.erase({kind, key});
}

bool StatusWriter::IsBehind(const json& object) {
  const std::lock_guard lock(mutex_);
  const auto found = written_.find({object["kind"], kube::KeyOf(object)});
  return found != written_.end() && VersionOf(object) < found->second;
}

void StatusWriter::NoteWrite(const std::string& kind, const kube::ObjectKey& key, bool done) {
  if (done) {
    unsaved_.erase({kind, key});
  } else {
    unsaved_.insert({kind, key});
    ++failed_writes_;
  }
  metrics_.SetStore(unsaved_.empty(), unsaved_.size(), failed_writes_);
}

void StatusWriter::RecordEvent(const json& object, const reconcile::Transition& transition) {
  const json& metadata = object["metadata"];
  const std::string now = kube::FormatMicroTime(clock_.UnixNs());
  const std::string text = StrCat(UidOf(object), transition.reason, transition.message, now);
  const std::uint64_t hash = base::Hash64(text.data(), text.size());
  const json event = {{"apiVersion", kube::kEvents.api_version},
                      {"kind", kube::kEvents.kind},
                      {"metadata",
                       {{"name", StrCat(metadata["name"].get<std::string>(), ".", hash)},
                        {"namespace", metadata["namespace"]}}},
                      {"eventTime", now},
                      {"reportingController", reconcile::kManagerName},
                      {"reportingInstance", instance_},
                      {"action", transition.reason},
                      {"reason", transition.reason},
                      {"note", job::Beginning(transition.message, kNoteBytesMax)},
                      {"type", transition.warning ? "Warning" : "Normal"},
                      {"regarding",
                       {{"apiVersion", object["apiVersion"]},
                        {"kind", object["kind"]},
                        {"name", metadata["name"]},
                        {"namespace", metadata["namespace"]},
                        {"uid", metadata["uid"]}}}};
  const auto created = client_.Create(kube::kEvents, event);
  if (!created) Log(Level::kWarning, "event_not_written", {{"reason", created.error().message}});
}

}  // namespace eidolon::controller::kube_host
