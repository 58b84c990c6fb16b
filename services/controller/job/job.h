// The simulation job: what a SimulationJob document says, with defaults filled in, and the problems
// of a document that cannot be accepted. Pure: no HTTP, no Kubernetes, no clock.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/base/sim_time.h"
#include "services/controller/job/cluster.h"
#include "services/controller/job/host_model.h"
#include "services/controller/job/metadata.h"
#include "services/controller/job/problem.h"
#include "services/controller/job/values.h"

namespace eidolon::controller::job {

// Where jobs run: some fields exist in one of the two only.
enum class Mode { kEmbedded, kKubernetes };

// Default of limits.stillSeconds: longer than pauses of a program that goes on.
inline constexpr std::int64_t kStillSecondsDefault = 120;
// Of limits.scheduleSeconds: a node of an autoscaler is there by then.
inline constexpr std::int64_t kScheduleSecondsDefault = 300;
inline constexpr std::uint32_t kBackoffLimitDefault = 3;
// Least value of limits.logBytes.
inline constexpr std::uint64_t kLogBytesMin = 1u << 20;
inline constexpr std::uint64_t kLogBytesDefault = 64u << 20;
inline constexpr std::uint64_t kLogBytesMax = std::uint64_t{1} << 40;

struct IterationRule {
  std::uint32_t warmup = 3;   // Iterations that do not count.
  std::uint32_t measure = 5;  // Iterations after which the job ends by itself.
  std::string nvtx;           // Boundary: an NVTX range; empty: not by NVTX.
  std::string log;            // Boundary: a pattern of log lines; both empty: found by repetition.
  std::uint64_t tokens = 0;   // Per iteration, of the whole job; 0: not told.
  std::uint64_t samples = 0;  // The same.
  std::uint64_t parameters = 0;  // Of the model; 0: not told.
};

// Ranks that run as processes, and ranks that are mirrored from them (services/contract/folding).
struct FoldingSpec {
  enum class Mode {
    kAuto,      // Folds when this machine's memory does not hold all ranks.
    kOff,       // Every rank runs.
    kRequired,  // Always folds.
  };
  Mode mode = Mode::kAuto;
  std::uint32_t live_per_class = 2;
  std::vector<std::uint32_t> live;  // Ranks that run besides.
};

// Contents of the timeline: the first iterations behind the warm-up.
struct TimelineSpec {
  std::uint32_t iterations = 0;      // 0: there is none.
  std::vector<std::uint32_t> ranks;  // Empty: all.
  std::uint64_t operations_max = 0;  // Of a server.
};

// A recording in the place of the command (docs/recording.md).
struct ReplaySpec {
  std::string recording;            // Path; empty: the command runs.
  double host_factor = 1;           // What the host's work takes, over what it took.
  double kernel_factor = 1;         // The same of kernels and copies.
  double communication_factor = 1;  // The same of transfers between GPUs.
  bool even_hosts = false;          // All ranks' hosts work as little as the one that worked least.
};

// A factor of a replay, at most 1000, in thousandths.
inline std::uint32_t Permille(double factor) {
  return static_cast<std::uint32_t>(std::lround(factor * 1000));
}

// Random delays of the host work of each rank.
struct JitterSpec {
  bool exponential = false;  // Lengths are drawn, too; else all are alike.
  double per_second = 0;     // Of host work; above 0.
  base::Duration length;     // Mean.
  std::uint64_t seed = 0;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct JobSpec {
  std::string cluster_name;                       // clusterRef.name; empty with an inline cluster.
  std::optional<ClusterSpec> cluster;             // Inline.
  std::optional<std::uint32_t> servers;           // Default: the cluster's.
  std::optional<std::uint32_t> ranks_per_server;  // Default: the cluster's GPUs per server.
  std::string image;
  std::vector<std::string> command;
  Environment environment;
  std::string working_directory;  // Embedded; workingDirectory or code.directory.
  std::string code_config_map;    // Kubernetes; mounted where the command runs.
  std::string code_claim;         // The same, of a PersistentVolumeClaim.
  std::string managed_by;         // Kubernetes; who runs the job, empty: we.
  IterationRule iterations;
  HostModel host_model = HostModel::kCounted;
  std::optional<JitterSpec> jitter;
  bool varies = true;  // GPUs of ranks differ as those of clusters do.
  std::uint64_t variation_seed = 0;
  ValuesSpec values;
  FoldingSpec folding;
  bool strict = false;                                     // The first refused call ends the job.
  std::uint64_t wall_seconds_max = 0;                      // 0: no limit.
  std::uint64_t still_seconds_max = kStillSecondsDefault;  // 0: no limit.
  std::uint64_t memory_per_server_bytes = 0;               // 0: no limit.
  std::uint64_t schedule_seconds_max = kScheduleSecondsDefault;  // Kubernetes; 0: no limit.
  std::uint32_t backoff_limit = kBackoffLimitDefault;            // Kubernetes.
  std::uint64_t log_bytes_max = kLogBytesDefault;                // Embedded.
  bool event_log = false;
  TimelineSpec timeline;
  bool recording = false;  // What ranks ask of their GPUs is kept.
  ReplaySpec replay;
  bool suspend = false;
  std::optional<std::uint64_t> ttl_seconds_after_finished;
};

struct ParsedJob {
  Metadata metadata;
  JobSpec spec;
  // Fields that are understood but have no effect here, as sentences for the user.
  std::vector<std::string> warnings;
  Problems problems;  // Empty: the document is acceptable by itself.
};

struct ParsedCluster {
  Metadata metadata;
  ClusterSpec spec;
  Problems problems;
};

// Both never fail otherwise than by `problems`, whatever the tree holds.
ParsedJob ParseJob(const nlohmann::json& document, Mode mode);
ParsedCluster ParseCluster(const nlohmann::json& document);

}  // namespace eidolon::controller::job
