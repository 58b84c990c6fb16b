// Jobs that predict a recording again: what the recording says of itself, and the same job on
// another cluster. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::cli {

// Changes of a replay; whatever is empty or 0 stays as it was recorded.
struct ReplayChanges {
  std::string gpu;
  std::string preset;      // Of the server.
  nlohmann::json cluster;  // A cluster's spec in the place of the recorded one; null: none.
  double gpu_clock = 0;    // Of the GPUs' multiprocessors, over the model's.
  std::uint32_t nics = 0;  // Of a server.
  double nic_gbps = 0;     // Of each.
  std::uint32_t servers_per_domain = 0;  // Servers that share an NVLink domain.
  std::string fabric;                    // A preset.
  double host_factor = 1;                // What the host's work takes, over what it took.
  double kernel_factor = 1;              // The same of kernels and copies.
  double communication_factor = 1;       // The same of transfers between GPUs.
  bool even_hosts = false;               // All hosts work as little as the one that worked least.
  std::uint64_t tokens = 0;              // Of an iteration.
  std::uint64_t samples = 0;             // The same.
};

// Contents of a recording: the job's document, and its status when it was over.
struct RecordedJob {
  nlohmann::json job;
  nlohmann::json status;
};
// Reads a recording's job block. The error names what is missing.
base::Result<RecordedJob> ReadRecordedJob(std::string_view text);

// The job that replays `path`, an absolute path.
nlohmann::json MakeReplayDocument(const RecordedJob& recorded, const std::string& path,
                                  const ReplayChanges& changes);

// Returns whether two predictions say the same to the last digit, and what a reader should know of
// the difference; lines of a report. `queries`: answers that the recording does not keep.
std::string FormatReplay(const RecordedJob& recorded, const nlohmann::json& replayed,
                         std::uint64_t queries);
// The parts of two statuses that a replay without changes repeats.
bool ArePredictedAlike(const nlohmann::json& status, const nlohmann::json& other);

}  // namespace eidolon::cli
