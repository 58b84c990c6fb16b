// Timelines and recordings of jobs that are over, as files of a folder that is bounded: what was
// stored first goes first. A controller without a data folder of its own has it (Kubernetes); it
// holds nothing that a job's prediction needs.
//
//   FOLDER/kept/NAMESPACE/NAME/UID.pftrace    of a job that is over; UID.eidrec: its recording
//   FOLDER/parts/N/                           what agents of a running job have sent
//   FOLDER/copies/                            what another controller has sent, until it is passed
//   on
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/controller/outputs/part.h"

namespace eidolon::controller::outputs {

class OutputStore;
class RunOutputs;

// Texts of the API server, which allows no slash in them.
struct JobId {
  std::string name_space, name, uid;
};

// A file of the folder for what another controller sends. The file, and the count of its bytes, go
// with the object. Used by one thread at a time; the store must outlive it.
class OutputCopy {
 public:
  ~OutputCopy();
  OutputCopy(const OutputCopy&) = delete;
  OutputCopy& operator=(const OutputCopy&) = delete;

  const std::string& path() const { return path_; }
  // kUnavailable: other copies need the room now.
  base::Result<void> Append(std::string_view data);

 private:
  friend class OutputStore;
  OutputCopy(OutputStore* store, std::string path, int fd)
      : store_(*store), path_(std::move(path)), fd_(fd) {}

  OutputStore& store_;
  const std::string path_;
  const int fd_;
  std::uint64_t bytes_ = 0;  // Reserved.
};

// Thread safe. One process at a time owns the folder.
class OutputStore {
 public:
  struct Options {
    std::string folder;
    std::uint64_t bytes_max = 0;  // Of everything in it; the disk has some parts more.
  };
  // Keeps the files of jobs that an earlier process has left, and nothing else.
  explicit OutputStore(Options options);

  // One job may send so much, so that several fit.
  std::uint64_t job_bytes_max() const { return options_.bytes_max / 4; }
  // All copies together, so that any file of another controller fits. This room is theirs alone:
  // who reads a file takes none from kept files and from jobs that run.
  std::uint64_t copies_bytes_max() const { return job_bytes_max(); }

  // The job's timeline or recording.
  std::optional<std::string> Find(const JobId& job, Kind kind) const;
  // Removes those of all jobs of this name.
  void Remove(const std::string& name_space, const std::string& name);
  // An empty file of its own.
  base::Result<std::shared_ptr<OutputCopy>> MakeCopy();

 private:
  friend class OutputCopy;
  friend class RunOutputs;

  struct Kept {
    std::string path;
    std::uint64_t bytes = 0;
  };

  std::string PathOf(const JobId& job, Kind kind) const;
  // Makes a folder for the parts of one run.
  std::string MakeFolder();
  // Counts what will be written. False: there is no room, whatever is removed.
  bool Reserve(std::uint64_t bytes);
  void Release(std::uint64_t bytes);
  // The same for copies.
  bool ReserveForCopy(std::uint64_t bytes);
  void ReleaseOfCopy(std::uint64_t bytes);
  // Moves a file whose bytes are reserved to its place.
  struct Made {
    Kind kind = Kind::kTimeline;
    std::string path;
    std::uint64_t bytes = 0;
  };
  base::Result<void> Keep(const JobId& job, const Made& file);
  void FindKept();

  const Options options_;
  mutable std::mutex mutex_;  // Guards what follows.
  std::uint64_t bytes_ = 0;   // Of `kept_` and of what is reserved, without copies.
  std::uint64_t copies_bytes_ = 0;
  std::vector<Kept> kept_;  // In the order in which they were stored.
  std::uint64_t next_run_ = 0;
};

}  // namespace eidolon::controller::outputs
