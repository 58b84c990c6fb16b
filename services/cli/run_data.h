// Keeps the jobs that a command runs for its user alone.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::cli {

// A folder for jobs, removed at the end; or the one that the user names. A folder of its own is
// locked as long as this lives, so that another command can tell the folder of a run that was
// killed from one that is used, also by a process that it cannot see (another container, another
// machine that shares the folder). Move-only.
class RunData {
 public:
  // `wanted` empty: a folder of its own among the temporary ones, after those that killed runs have
  // left are removed.
  static base::Result<RunData> Make(const std::string& wanted);
  ~RunData();
  RunData(RunData&& other) noexcept;
  RunData& operator=(RunData&& other) noexcept;

  const std::string& path() const { return path_; }
  bool is_temporary() const { return lock_ >= 0; }

 private:
  RunData() = default;

  std::string path_;
  int lock_ = -1;  // Open on the folder, when it is one of its own.
};

}  // namespace eidolon::cli
