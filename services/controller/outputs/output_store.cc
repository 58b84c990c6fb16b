// bytes_ counts the kept files and the parts of running jobs, each part before it is written.
// Reserving first keeps both within the bound at every moment, and not only after a clean-up.
// Reserve makes room by removing kept files, the oldest first, but never for more than would fit
// without any of them. Copies have a quarter of the folder for themselves, because reading must
// neither remove a kept file nor refuse what a running job sends. A restart knows nothing of parts
// and copies and removes them; the kept files are found again in the order of their write times.
// The path contains the uid, so that a later job of the same name never gets an earlier one's
// files.
#include "services/controller/outputs/output_store.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::controller::outputs {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace fs = std::filesystem;

OutputStore::OutputStore(Options options) : options_(std::move(options)) {
  std::error_code error;
  for (const char* folder : {"/parts", "/copies"}) {
    fs::remove_all(options_.folder + folder, error);
    fs::create_directories(options_.folder + folder, error);
    if (error) {
      base::Log(base::Level::kError, "outputs_not_kept",
                {{"folder", options_.folder}, {"error", error.message()}});
      return;
    }
  }
  FindKept();
}

void OutputStore::FindKept() {
  std::vector<std::pair<fs::file_time_type, Kept>> found;
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(options_.folder + "/kept", error)) {
    if (!entry.is_regular_file(error)) continue;
    found.push_back({entry.last_write_time(error), {entry.path(), entry.file_size(error)}});
  }
  std::ranges::stable_sort(found, {}, [](const auto& kept) { return kept.first; });
  for (auto& [time, kept] : found) {
    bytes_ += kept.bytes;
    kept_.push_back(std::move(kept));
  }
}

std::string OutputStore::PathOf(const JobId& job, Kind kind) const {
  return StrCat(options_.folder, "/kept/", job.name_space, "/", job.name, "/", job.uid,
                kind == Kind::kRecording ? ".eidrec" : ".pftrace");
}

std::string OutputStore::MakeFolder() {
  std::string folder;
  {
    const std::lock_guard lock(mutex_);
    folder = StrCat(options_.folder, "/parts/", next_run_++);
  }
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  return folder;
}

std::optional<std::string> OutputStore::Find(const JobId& job, Kind kind) const {
  std::string path = PathOf(job, kind);
  const std::lock_guard lock(mutex_);
  if (std::ranges::find(kept_, path, &Kept::path) == kept_.end()) return std::nullopt;
  return path;
}

void OutputStore::Remove(const std::string& name_space, const std::string& name) {
  const std::string folder = StrCat(options_.folder, "/kept/", name_space, "/", name, "/");
  const std::lock_guard lock(mutex_);
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    if (kept->path.starts_with(folder)) {
      std::error_code ignored;
      fs::remove(kept->path, ignored);
      bytes_ -= kept->bytes;
      kept = kept_.erase(kept);
    } else {
      ++kept;
    }
  }
  std::error_code ignored;
  fs::remove(folder.substr(0, folder.size() - 1), ignored);
}

base::Result<std::shared_ptr<OutputCopy>> OutputStore::MakeCopy() {
  std::string path = options_.folder + "/copies/XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) {
    return Fail(ErrorCode::kInternal, StrCat("opening ", path, ": ", std::strerror(errno)));
  }
  return std::shared_ptr<OutputCopy>(new OutputCopy(this, std::move(path), fd));
}

OutputCopy::~OutputCopy() {
  close(fd_);
  std::error_code ignored;
  fs::remove(path_, ignored);
  store_.ReleaseOfCopy(bytes_);
}

base::Result<void> OutputCopy::Append(std::string_view data) {
  if (bytes_ + data.size() > store_.copies_bytes_max()) {
    return Fail(ErrorCode::kInternal, StrCat("it has more than the ", store_.copies_bytes_max(),
                                             " bytes that this controller copies"));
  }
  if (!store_.ReserveForCopy(data.size())) {
    return Fail(ErrorCode::kUnavailable,
                StrCat("other files are being copied, which take the ", store_.copies_bytes_max(),
                       " bytes that this controller has for copies; ask again"));
  }
  bytes_ += data.size();
  while (!data.empty()) {
    const ssize_t count = write(fd_, data.data(), data.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Fail(ErrorCode::kInternal, StrCat("writing ", path_, ": ", std::strerror(errno)));
    }
    data.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

bool OutputStore::ReserveForCopy(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (copies_bytes_ + bytes > copies_bytes_max()) return false;
  copies_bytes_ += bytes;
  return true;
}

void OutputStore::ReleaseOfCopy(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  copies_bytes_ -= bytes;
}

bool OutputStore::Reserve(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes_max = options_.bytes_max - copies_bytes_max();
  std::uint64_t kept = 0;
  for (const Kept& one : kept_) kept += one.bytes;
  if (bytes_ - kept + bytes > bytes_max) return false;
  while (bytes_ + bytes > bytes_max) {
    std::error_code ignored;
    fs::remove(kept_.front().path, ignored);
    base::Log(base::Level::kInfo, "output_removed", {{"path", kept_.front().path}});
    bytes_ -= kept_.front().bytes;
    kept_.erase(kept_.begin());
  }
  bytes_ += bytes;
  return true;
}

void OutputStore::Release(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_ -= bytes;
}

base::Result<void> OutputStore::Keep(const JobId& job, const Made& file) {
  const std::string place = PathOf(job, file.kind);
  const std::lock_guard lock(mutex_);
  std::error_code error;
  fs::create_directories(fs::path(place).parent_path(), error);
  fs::rename(file.path, place, error);
  if (error) return Fail(ErrorCode::kInternal, StrCat("moving ", file.path, ": ", error.message()));
  // An attempt before may have left one.
  const auto before = std::ranges::find(kept_, place, &Kept::path);
  if (before != kept_.end()) {
    bytes_ -= before->bytes;
    kept_.erase(before);
  }
  kept_.push_back({place, file.bytes});
  return {};
}

}  // namespace eidolon::controller::outputs
