// Collects what the agents of one run send of its timeline and its recording: parts come in, and
// become one file of each and the critical path when the run is over.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/contract/critical_path/summary.h"
#include "services/controller/outputs/output_store.h"
#include "services/controller/outputs/part.h"

namespace eidolon::controller::outputs {

// Thread safe; its lock is held while it writes. What is not kept goes with it.
class RunOutputs {
 public:
  struct Wanted {
    bool timeline = false;
    bool recording = false;
  };
  // Makes the outputs for a run that begins. The store must outlive it.
  RunOutputs(OutputStore* store, JobId job, Wanted wanted);
  ~RunOutputs();
  RunOutputs(const RunOutputs&) = delete;
  RunOutputs& operator=(const RunOutputs&) = delete;

  // Parts of one file come one after another. Beyond what a job may send, or the disk takes,
  // nothing of the file is kept.
  void Add(std::uint32_t server, const Part& part);

  struct Kept {
    std::optional<std::uint64_t> timeline_bytes;  // None: there is no timeline.
    std::optional<critical_path::Summary> path;
    std::optional<std::uint64_t> recording_bytes;
    std::vector<std::string> warnings;  // What is not there, and why.
  };
  // Call once, when no part comes any more. `servers`: those that have an agent. `recorded`: JSON
  // that says what was run, for the recording.
  Kept Keep(const std::vector<std::uint32_t>& servers, std::string_view recorded);

 private:
  struct File {
    std::uint64_t bytes = 0;
    bool is_complete = false;
    std::string error;
  };
  using FileName = std::pair<Kind, std::uint32_t>;  // The server's.

  std::string PathOf(const FileName& name) const;
  void GiveUp(const FileName& name, File* file, std::string why);
  base::Result<void> CheckAll(Kind kind, const std::vector<std::uint32_t>& servers) const;
  // The servers' files behind each other, after `head`; its bytes.
  base::Result<std::uint64_t> KeepWhole(Kind kind, const std::vector<std::uint32_t>& servers,
                                        std::string_view head);
  void KeepTimeline(const std::vector<std::uint32_t>& servers, Kept* kept);
  void KeepRecording(const std::vector<std::uint32_t>& servers, std::string_view recorded,
                     Kept* kept);
  base::Result<critical_path::Summary> FindPath(const std::vector<std::uint32_t>& servers) const;

  OutputStore& store_;
  const JobId job_;
  const Wanted wanted_;
  const std::string folder_;
  std::mutex mutex_;  // Guards what follows.
  std::map<FileName, File> files_;
  std::uint64_t bytes_ = 0;  // Reserved.
};

}  // namespace eidolon::controller::outputs
