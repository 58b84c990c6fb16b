// A recording is in its place before the journal has the row of the point that made it. A search
// that is killed in between replays it, so that the program does not run again, and gets the same
// row: a replay without changes equals its run to the last digit. What a recording cannot tell is
// whether a program that has more in a GPU than another GPU holds would have made room, so such a
// point runs. If it does not fit, the points that differ from it in clocks and rates alone do not
// either.
#include "services/cli/point_runner.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/text.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/job/condition.h"
#include "services/controller/job/metadata.h"
#include "services/controller/search/run_part.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::cli {
namespace {

using base::Result;
using base::StrCat;
using controller::shown::NumberAt;
using controller::shown::PhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using nlohmann::json;
namespace fs = std::filesystem;

bool Fits(const json& job) {
  return NumberAt(job, {"status", "prediction", "memory", "peakReservedBytes"}) <=
         NumberAt(job, {"status", "prediction", "memory", "capacityBytes"});
}

// A request was refused, whether or not the program lived on: with more memory it may go elsewhere.
bool WasRefusedMemory(const json& job) {
  return NumberAt(job, {"status", "prediction", "memory", "refusedBytes"}) > 0;
}

bool RanOutOfMemory(const json& job) {
  return TextAt(StandingCondition(job), {"reason"}) == controller::job::reason::kOutOfMemory;
}

// A file of an earlier version, or one that was damaged, is made anew.
bool IsUsable(const std::string& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  if (recording::RecordingFile::Open(file)) return true;
  fs::remove(file, ignored);
  return false;
}

}  // namespace

Result<PointRunner::Predicted> PointRunner::Predict(const json& spec, const GoesOn& goes_on) {
  const std::string part = replays_ ? controller::search::RunPartOf(spec) : "";
  if (part.empty()) {
    auto over = RunJob(spec, goes_on);
    if (!over) return std::unexpected(over.error());
    return Predicted{.job = std::move(over->job)};
  }
  {
    std::unique_lock lock(mutex_);
    part_is_free_.wait(lock, [&] { return !busy_parts_.contains(part); });
    busy_parts_.insert(part);
  }
  auto predicted = PredictBy(part, spec, goes_on);
  {
    const std::scoped_lock lock(mutex_);
    busy_parts_.erase(part);
  }
  part_is_free_.notify_all();
  return predicted;
}

// Requires: no other thread predicts a point of this part.
Result<PointRunner::Predicted> PointRunner::PredictBy(const std::string& part, const json& spec,
                                                      const GoesOn& goes_on) {
  const std::string file =
      StrCat(folder_, "/run-", base::Hex(base::Hash128(part.data(), part.size())), ".eidrec");
  if (IsUsable(file)) {
    auto replayed = Replay(spec, file);
    if (!replayed) return std::unexpected(replayed.error());
    if (*replayed) return Predicted{.job = std::move(**replayed), .replayed = true};
  }
  const std::string memory_part = StrCat(part, "\n", controller::search::MemoryPartOf(spec));
  {
    const std::scoped_lock lock(mutex_);
    const auto known = without_memory_.find(memory_part);
    if (known != without_memory_.end()) return Predicted{.job = known->second, .replayed = true};
  }
  json recorded = spec;
  recorded["outputs"]["recording"] = true;
  auto over = RunJob(std::move(recorded), goes_on);
  if (!over) return std::unexpected(over.error());
  const json& job = over->job;
  if (RanOutOfMemory(job)) {
    const std::scoped_lock lock(mutex_);
    without_memory_[memory_part] = job;
  }
  if (PhaseOf(job) == "Complete" && Fits(job) && !WasRefusedMemory(job)) {
    KeepRecording(over->name, file);
  }
  return Predicted{.job = std::move(over->job)};
}

Result<PointRunner::Over> PointRunner::RunJob(json spec, const GoesOn& goes_on) {
  std::string name;
  {
    const std::scoped_lock lock(mutex_);
    if (jobs_ == nullptr) {
      auto started = Replays::Start(embedded_);
      if (!started) return std::unexpected(started.error());
      jobs_ = std::move(*started);
    }
    name = StrCat("search", ++job_count_);
  }
  auto job = jobs_->Predict({{"apiVersion", controller::job::kApiVersion},
                             {"kind", controller::job::kJobKind},
                             {"metadata", {{"name", name}}},
                             {"spec", std::move(spec)}},
                            goes_on);
  if (!job) return std::unexpected(job.error());
  return Over{.job = std::move(*job), .name = std::move(name)};
}

// Nothing where the recording does not tell: the program has to run.
Result<std::optional<json>> PointRunner::Replay(const json& spec, const std::string& recording) {
  auto over = RunJob(controller::sweep::ReplaySpecOf(spec, recording), {});
  if (!over) return std::unexpected(over.error());
  const std::string phase = PhaseOf(over->job);
  const bool was_stopped = phase != "Complete" && phase != "Failed";
  const bool is_told = was_stopped || (phase == "Complete" && Fits(over->job));
  if (is_told) return std::optional(std::move(over->job));
  return std::optional<json>();
}

// Without a recording the program runs for each point.
void PointRunner::KeepRecording(const std::string& job, const std::string& file) {
  const std::string part_file = file + ".part";
  std::error_code ignored;
  if (jobs_->Fetch(job, "recording", part_file)) {
    fs::rename(part_file, file, ignored);
  } else {
    fs::remove(part_file, ignored);
  }
}

}  // namespace eidolon::cli
