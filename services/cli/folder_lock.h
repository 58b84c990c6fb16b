// A lock on a folder of results that several commands may write to.
#pragma once

#include <string>
#include <utility>

#include "services/base/error.h"

namespace eidolon::cli {

// Held until it is destroyed, or its process ends in whatever way. Locks of one process on one
// folder exclude each other as those of two processes do.
class FolderLock {
 public:
  // Waits for the one that holds it, and says so on stderr.
  static base::Result<FolderLock> Take(const std::string& folder);
  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}

  int file_;
};

}  // namespace eidolon::cli
