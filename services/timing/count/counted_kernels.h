// The kernels that were counted: in memory, and in a folder where other processes find them.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/timing/count/counts.h"
#include "services/timing/count/record.h"
#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::count {

// Thread safe. A launch is counted once, then found by its identity: module, function, grid, block
// and the words of its parameters. Files appear by renaming; damaged ones are counted again.
class CountedKernels {
 public:
  // An empty folder: nothing is kept on disk. It is made when it is not there.
  explicit CountedKernels(std::string folder) : folder_(std::move(folder)) {}

  // True when Find() needs the code of the launch's module first.
  bool WantsCode(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch);
  // Code of a module, by the 16 bytes of its hash. kInvalidArgument when it is not of that hash.
  base::Result<void> AddCode(const std::string& hash, std::string_view code);
  // Counts a launch that was not, when its code is here: some 50 ms at most. Nothing when it is
  // not, or when the kernel cannot be counted.
  std::optional<Counts> Find(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch);

 private:
  static constexpr std::size_t kMostCodeBytes = 256 << 20;
  static constexpr std::size_t kMostCounts = 1 << 16;

  std::optional<std::optional<Counts>> Known(base::Digest key);
  std::string FileOf(base::Digest key) const;
  void Keep(base::Digest key, const std::optional<Record>& record);

  const std::string folder_;
  std::mutex counts_mutex_;                               // Guards everything below.
  std::map<base::Digest, std::optional<Counts>> counts_;  // Nothing: it cannot be counted.
  std::map<std::string, std::string> code_;               // By hash.
  std::list<std::string> code_order_;                     // Hashes, the oldest first.
  std::size_t code_bytes_ = 0;
};

// All records of a folder, by name, GPU and size. What cannot be read is left out.
std::vector<Record> ReadRecords(const std::string& folder);

}  // namespace eidolon::timing::count
