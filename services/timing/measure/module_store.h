// Code of kernels by content, as files for the worker: uploaded once, checked, bounded.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::timing::measure {

// Thread safe. Does not own the folder.
class ModuleStore {
 public:
  // `folder` exists and is empty.
  ModuleStore(std::string folder, std::uint64_t bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  bool Has(const std::string& hash) const;
  // The file of a module, there or not. Requires: the hash has 16 bytes.
  std::string FileOf(const std::string& hash) const;
  // kInvalidArgument when the bytes are not those of the hash, kResourceExhausted when the store is
  // full, kUnavailable when the disk is.
  base::Result<void> Add(const std::string& hash, std::string_view code);

 private:
  const std::string folder_;
  const std::uint64_t bytes_max_;
  mutable std::mutex modules_mutex_;  // Guards what follows.
  std::set<std::string> modules_;
  std::uint64_t bytes_ = 0;
};

}  // namespace eidolon::timing::measure
