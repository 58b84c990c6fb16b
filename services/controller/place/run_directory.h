// The folder of one run of a job: sockets, shared memory and logs of its agents, one subfolder per
// server. Paths are short because the name of a Unix socket has 107 bytes at most.
#pragma once

#include <cstdint>
#include <string>

#include "services/base/error.h"

namespace eidolon::controller::place {

// Owns the folder and removes it at its end, unless told to keep it.
class RunDirectory {
 public:
  // Makes the folder of all runs, for this user alone. One that somebody else made beforehand, or a
  // link, is refused: whoever owns it could put sockets and programs in our way.
  static base::Result<void> PrepareRoot(const std::string& root);
  // Makes <root>/<8 random digits>/s0 ... , with access for this user only.
  static base::Result<RunDirectory> Make(const std::string& root, std::uint32_t servers);
  // Makes <root>/services-<8 random digits>, for the Unix sockets of this program's own services.
  static base::Result<RunDirectory> MakeForServices(const std::string& root);
  // $XDG_RUNTIME_DIR/eidolon or /tmp/eidolon-<uid>, whichever works.
  static std::string DefaultRoot();

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&& other) noexcept;
  ~RunDirectory();

  const std::string& path() const { return path_; }
  std::string server_path(std::uint32_t server) const;
  void Keep() { keep_ = true; }

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  // Makes the folder and locks it.
  base::Result<void> Create();

  std::string path_;
  int lock_ = -1;  // Held while this program lives: the folder is in use.
  bool keep_ = false;
};

// Longest accepted run directory, so that agents can add file names of up to 40 bytes.
inline constexpr std::size_t kRunPathBytesMax = 64;

// Ends what earlier controllers left below `root` when they were killed: processes and folders. A
// folder counts as left behind when the process that made it is gone, whoever has its number now.
// Returns the number of folders removed.
int CleanUpRuns(const std::string& root);

}  // namespace eidolon::controller::place
