// Documents that the command sends: the flags of `eidolon run` as one, and files of `submit`.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli {

struct RunFlags {
  std::string name = "run";
  std::string preset;
  std::string gpu;            // Both empty: an H100.
  double gpu_clock = 0;       // Of the GPUs' multiprocessors, over the model's; 0: the same.
  std::string cluster_file;   // A SimulatedCluster document.
  std::uint32_t servers = 0;  // 0: the cluster's.
  std::uint32_t gpus_per_server = 0;
  std::uint32_t ranks_per_server = 0;
  std::uint32_t warmup = 3;
  std::uint32_t measure = 5;
  std::string host_model = "counted";
  std::string variation;             // "published", "none"; empty: as jobs do.
  std::uint64_t variation_seed = 0;  // Of "published".
  std::uint64_t tokens = 0;
  std::uint64_t samples = 0;
  std::uint64_t parameters = 0;
  std::string boundary_nvtx;
  std::string boundary_log;
  bool strict = false;
  bool event_log = false;
  std::uint32_t timeline_iterations = 0;      // 0: no timeline.
  std::vector<std::uint32_t> timeline_ranks;  // Empty: all.
  bool recording = false;
  std::string values;  // "on": small kernels are run for their results; "off"; empty: as jobs do.
  // values.expertRouting: experts, tokens that one rank routes at a time, experts of a token.
  // Empty: not declared.
  std::vector<std::uint64_t> expert_routing;
  std::string folding;               // "auto", "off", "required"; empty: as jobs do.
  std::uint32_t live_per_class = 0;  // 0: as jobs do.
  std::vector<std::uint32_t> live;   // Ranks.
  std::vector<std::string> command;
};

// Fails when the cluster file cannot be read. Fields are checked by the controller.
base::Result<nlohmann::json> MakeRunDocument(const RunFlags& flags,
                                             const std::string& working_directory);

// The spec of the SimulatedCluster that a file describes.
base::Result<nlohmann::json> ReadClusterFile(const std::string& path);

// Makes a job's relative code directory absolute: it is meant from `folder`, where the document
// lies, and the controller runs somewhere else.
void AnchorCodeDirectory(nlohmann::json* document, const std::string& folder);

// Where this command was started, whose folder may have been removed since.
base::Result<std::string> CurrentFolder();

// The text of a file; "-" is standard input.
base::Result<std::string> ReadFile(const std::string& path);

}  // namespace eidolon::cli
