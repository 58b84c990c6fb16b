// A replay is an ordinary job whose spec names a recording, so everything behind the document is
// the same as for a run. controller/sweep/sweep.h says which fields of the recorded spec a replay
// keeps, for this command and for sweeps alike: what only a running program needs (code, outputs)
// is left out, and folding is off, as a recording has every rank. A replay without changes gives
// the prediction of its run to the last digit, and ArePredictedAlike compares exactly that: times
// in picoseconds, memory, breakdown and coverage.
#include "services/cli/replay_document.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/cli/report.h"
#include "services/controller/job/metadata.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/report_line.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::StrCat;
using controller::shown::At;
using controller::shown::FormatCount;
using controller::shown::FormatSeconds;
using controller::shown::FormatSpan;
using controller::shown::NumberAt;
using nlohmann::json;

base::Result<RecordedJob> ReadRecordedJob(std::string_view text) {
  const auto fail = [](const std::string& what) {
    return Fail(ErrorCode::kCorrupt, "the recording does not say what was run: " + what);
  };
  if (text.empty()) return fail("it has no job block");
  json head = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!head.is_object()) return fail("its job block is not JSON");
  RecordedJob recorded{.job = head.value("job", json()), .status = head.value("status", json())};
  const auto spec = json::json_pointer("/spec/cluster");
  if (!recorded.job.is_object() || !recorded.job.contains(spec) ||
      !recorded.job[spec].is_object()) {
    return fail("its job has no cluster");
  }
  return recorded;
}

namespace {

void ChangeCluster(const ReplayChanges& changes, json* cluster) {
  if (!changes.cluster.is_null()) *cluster = changes.cluster;
  json& server = (*cluster)["server"];
  if (!server.is_object()) server = json::object();
  if (!changes.preset.empty()) {
    // The preset says what was said before; how many GPUs there are stays.
    const json count = server.value("gpusPerServer", json());
    server = {{"preset", changes.preset}};
    if (!count.is_null()) server["gpusPerServer"] = count;
  }
  if (!changes.gpu.empty()) server["gpu"] = changes.gpu;
  if (changes.gpu_clock > 0) server["gpuClock"] = changes.gpu_clock;
  if (changes.nics > 0) server["nics"]["count"] = changes.nics;
  if (changes.nic_gbps > 0) server["nics"]["gbps"] = changes.nic_gbps;
  if (changes.servers_per_domain > 0) {
    server["serversPerDomain"] = changes.servers_per_domain;
    server["nvlink"]["switch"] = true;
  }
  if (!changes.fabric.empty()) (*cluster)["fabric"] = {{"preset", changes.fabric}};
}

}  // namespace

json MakeReplayDocument(const RecordedJob& recorded, const std::string& path,
                        const ReplayChanges& changes) {
  json spec = controller::sweep::ReplaySpecOfRecorded(recorded.job["spec"], path);
  ChangeCluster(changes, &spec["cluster"]);
  if (changes.tokens > 0) spec["iterations"]["tokens"] = changes.tokens;
  if (changes.samples > 0) spec["iterations"]["samples"] = changes.samples;
  spec["replay"]["hostFactor"] = changes.host_factor;
  if (changes.kernel_factor != 1) spec["replay"]["kernelFactor"] = changes.kernel_factor;
  if (changes.communication_factor != 1) {
    spec["replay"]["communicationFactor"] = changes.communication_factor;
  }
  if (changes.even_hosts) spec["replay"]["evenHosts"] = true;
  return {{"apiVersion", controller::job::kApiVersion},
          {"kind", controller::job::kJobKind},
          {"metadata", {{"name", "replay"}}},
          {"spec", std::move(spec)}};
}

bool ArePredictedAlike(const json& status, const json& other) {
  const auto part = [](const json& of, const char* name) { return At(of, {"prediction", name}); };
  constexpr const char* kParts[] = {"iterationSeconds", "iterationPicoseconds", "breakdown",
                                    "memory", "coverage"};
  return std::ranges::all_of(
      kParts, [&](const char* name) { return part(status, name) == part(other, name); });
}

std::string FormatReplay(const RecordedJob& recorded, const json& replayed, std::uint64_t queries) {
  const auto seconds_of = [](const json& status) {
    const controller::shown::Headline time =
        controller::shown::HeadlineOf(At(status, {"prediction"}));
    return time.is_iteration ? time.seconds : 0;
  };
  const double before = seconds_of(recorded.status);
  const double after = seconds_of(At(replayed, {"status"}));
  const double run = NumberAt(recorded.status, {"simulation", "wallSeconds"});
  const double replay = NumberAt(replayed, {"status", "simulation", "wallSeconds"});
  std::string text;
  if (ArePredictedAlike(recorded.status, At(replayed, {"status"}))) {
    text += StrCat(
        "  as recorded      the same prediction to the last digit: ", FormatSeconds(before), "\n");
  } else if (before > 0 && after > 0) {
    char factor[64];
    std::snprintf(factor, sizeof(factor), "%.3f", before / after);
    text += StrCat("  recorded         ", FormatSeconds(before), " an iteration; this is ", factor,
                   " times as fast\n");
  }
  if (run > 0 && replay > 0) {
    char factor[64];
    std::snprintf(factor, sizeof(factor), "%.1f", run / replay);
    text += StrCat("  replayed in      ", FormatSpan(replay), ", ", factor,
                   " times as fast as the run (", FormatSpan(run), ")\n");
  }
  if (queries > 0) {
    text += StrCat("  not replayed     ", FormatCount(static_cast<double>(queries)),
                   " times the program asked whether work was done, or how long it took; what it "
                   "decided by the answers is as it was\n");
  }
  return text;
}

}  // namespace eidolon::cli
