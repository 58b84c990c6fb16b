// Processes trust what they find in this folder (indices of GPU code, footprints of kernels), so
// another user must not be able to write there: the folder itself is looked at without following a
// link, and it has to be ours and not writable for others. Everything in it can be made again, so a
// file may vanish at any moment, and every failure is ignored. Trimming goes down to three quarters
// of the limit, oldest files first, so that not every job has to trim.
#include "services/agent/launch/code_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace eidolon::agent::launch {
namespace {

namespace fs = std::filesystem;

// A process that finds a file it cannot use gives it this ending.
constexpr std::string_view kRefused = ".refused";

bool IsOwnFolder(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         access(path.c_str(), R_OK | W_OK | X_OK) == 0;
}

bool Make(const std::string& path) {
  if (path.empty()) return false;
  std::error_code ignored;  // What follows tells.
  fs::create_directories(fs::path(path).parent_path(), ignored);
  mkdir(path.c_str(), 0700);
  return IsOwnFolder(path);
}

struct KeptFile {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type written;
};

std::vector<KeptFile> FilesOf(const std::string& folder) {
  std::vector<KeptFile> files;
  std::error_code failure;  // Files may go while they are looked at.
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    std::error_code gone;
    if (!fs::is_regular_file(at->symlink_status(gone))) continue;
    KeptFile file{.path = at->path()};
    file.bytes = at->file_size(gone);
    if (!gone) file.written = at->last_write_time(gone);
    if (!gone) files.push_back(std::move(file));
  }
  return files;
}

// Removes files down to three quarters, so that not every job has something to remove.
std::size_t Shorten(std::vector<KeptFile> files, std::uint64_t bytes_max) {
  std::uint64_t bytes = 0;
  for (const KeptFile& file : files) bytes += file.bytes;
  if (bytes <= bytes_max) return 0;
  std::ranges::sort(files, {}, &KeptFile::written);
  std::size_t removed = 0;
  for (const KeptFile& file : files) {
    if (bytes <= bytes_max / 4 * 3) break;
    std::error_code failure;
    if (!fs::remove(file.path, failure)) continue;
    bytes -= file.bytes;
    ++removed;
  }
  return removed;
}

}  // namespace

CodeFolder PrepareCodeFolder(const std::string& wanted, const std::string& instead,
                             std::uint64_t bytes_max) {
  CodeFolder folder;
  if (!Make(wanted)) {
    Make(instead);
    folder.path = instead;
    return folder;
  }
  folder.path = wanted;
  std::vector<KeptFile> files = FilesOf(wanted);
  folder.refused = std::erase_if(files, [](const KeptFile& file) {
    if (file.path.extension() != kRefused) return false;
    std::error_code ignored;
    return fs::remove(file.path, ignored);
  });
  folder.removed = Shorten(std::move(files), bytes_max);
  return folder;
}

}  // namespace eidolon::agent::launch
