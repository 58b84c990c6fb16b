// Writes what the controller says about its objects: their status, and events.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "services/base/clock.h"
#include "services/controller/kube/client.h"
#include "services/controller/metrics/metrics.h"
#include "services/controller/reconcile/plan.h"

namespace eidolon::controller::kube_host {

// Thread safe; its lock is never held during a call to the API server. What it is given must
// outlive it.
class StatusWriter {
 public:
  // `instance`: who reports, as events name it.
  StatusWriter(const base::RealClock& clock, kube::Client& client, metrics::Metrics& metrics,
               std::string instance)
      : clock_(clock), client_(client), metrics_(metrics), instance_(std::move(instance)) {}

  // An object that is gone counts as written. One that fails is looked at again, sooner or later;
  // until then the object is shown as it was, and metrics count it. A status that the cluster
  // cannot store beside the spec would fail for ever: the object has failed then (TooLarge), and an
  // event says so.
  kube::Answer<void> Write(const nlohmann::json& object, const nlohmann::json& status);
  // Whether the object is as it was before the last status that was written: decisions on it would
  // be made twice.
  bool IsBehind(const nlohmann::json& object);
  // The object is gone: nothing of it is unsaved any more.
  void Forget(const std::string& kind, const kube::ObjectKey& key);
  // A transition as an event. One that cannot be written is logged.
  void RecordEvent(const nlohmann::json& object, const reconcile::Transition& transition);

 private:
  // Writes the shortest status that says that the whole one is too large, and an event, in case not
  // even that fits; once for each generation of the object.
  kube::Answer<nlohmann::json> WriteTooLarge(const nlohmann::json& object, nlohmann::json change,
                                             const kube::Refusal& refusal);
  void NoteWrite(const std::string& kind, const kube::ObjectKey& key, bool done);

  const base::RealClock& clock_;
  kube::Client& client_;
  metrics::Metrics& metrics_;
  const std::string instance_;

  std::mutex mutex_;  // Guards what follows.
  // Kind and key of objects whose status the API server has refused.
  std::set<std::pair<std::string, kube::ObjectKey>> unsaved_;
  std::uint64_t failed_writes_ = 0;
  // Versions of what was written, which grow in time (KEP-5504).
  std::map<std::pair<std::string, kube::ObjectKey>, std::int64_t> written_;
  // Objects beside whose spec their status does not fit: uid and generation.
  std::map<std::pair<std::string, kube::ObjectKey>, std::string> too_large_;
};

}  // namespace eidolon::controller::kube_host
