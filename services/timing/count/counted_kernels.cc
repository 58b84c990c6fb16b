// Counting takes up to 50 ms and every rank of a job asks for the same kernels, so the lock is held
// while a launch is counted: the others wait for the result instead of repeating the work. A kernel
// that cannot be counted is remembered in memory only; the next process tries again. A record's
// file appears by renaming one whose name holds the process, so readers never see a part and two
// writers do not meet. Code is kept up to a limit, the oldest goes first; a launch whose code is
// gone is asked for again (WantsCode).
#include "services/timing/count/counted_kernels.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <unistd.h>

#include "services/base/hex.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/timing/count/count.h"
#include "services/timing/count/kernel_code.h"
#include "services/timing/kernel/work_key.h"

namespace eidolon::timing::count {
namespace {

using base::StrCat;

constexpr std::string_view kSuffix = ".counts";
constexpr std::size_t kLoggedNameMax = 300;

// What a count depends on: the launch and the GPU's name, whose file may change under it; its
// multiprocessors and clocks are applied later.
base::Digest KeyOf(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch) {
  std::string bytes = kernel::CanonicalBytes(kernel::WorkItem(launch));
  bytes += StrCat(gpu.name, " ", gpu.multiprocessors, " ", launch.blocks_per_multiprocessor);
  return base::Hash128(bytes.data(), bytes.size());
}

std::string HashOf(std::string_view code) {
  const base::Digest digest = base::Hash128(code.data(), code.size());
  std::string hash(sizeof(digest.high) + sizeof(digest.low), '\0');
  std::memcpy(hash.data(), &digest.high, sizeof(digest.high));
  std::memcpy(hash.data() + sizeof(digest.high), &digest.low, sizeof(digest.low));
  return hash;
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

base::Result<Record> CountNow(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch,
                              std::string_view code) {
  const auto kernel = ReadKernelCode(std::as_bytes(std::span(code)), launch.name);
  if (!kernel) return std::unexpected(kernel.error());
  const auto counts = CountLaunch(*kernel, launch, gpu, {});
  if (!counts) return std::unexpected(counts.error());
  return Record{.name = launch.name,
                .gpu = gpu.name,
                .grid = launch.grid,
                .block = launch.block,
                .shared_bytes = launch.static_shared_bytes + launch.dynamic_shared_bytes,
                .registers = launch.registers,
                .counts = *counts};
}

}  // namespace

std::string CountedKernels::FileOf(base::Digest key) const {
  return StrCat(folder_, "/", base::Hex(key), kSuffix);
}

std::optional<std::optional<Counts>> CountedKernels::Known(base::Digest key) {
  if (const auto found = counts_.find(key); found != counts_.end()) return found->second;
  if (folder_.empty()) return std::nullopt;
  const auto text = ReadFile(FileOf(key));
  if (!text) return std::nullopt;
  const auto record = ParseRecord(*text);
  if (!record) return std::nullopt;
  if (counts_.size() >= kMostCounts) counts_.clear();
  counts_[key] = record->counts;
  return counts_[key];
}

bool CountedKernels::WantsCode(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch) {
  if (launch.ModuleHash().empty()) return false;
  const base::Digest key = KeyOf(gpu, launch);
  const std::lock_guard lock(counts_mutex_);
  return !code_.contains(launch.ModuleHash()) && !Known(key).has_value();
}

base::Result<void> CountedKernels::AddCode(const std::string& hash, std::string_view code) {
  if (hash != HashOf(code)) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      StrCat("module: its ", code.size(), " bytes do not have its hash"));
  }
  const std::lock_guard lock(counts_mutex_);
  if (!code_.emplace(hash, code).second) return {};
  code_order_.push_back(hash);
  code_bytes_ += code.size();
  while (code_bytes_ > kMostCodeBytes && code_order_.size() > 1) {
    const auto oldest = code_.find(code_order_.front());
    code_bytes_ -= oldest->second.size();
    code_.erase(oldest);
    code_order_.pop_front();
  }
  return {};
}

std::optional<Counts> CountedKernels::Find(const gpu_model::GpuModel& gpu,
                                           const kernel::KernelLaunch& launch) {
  const base::Digest key = KeyOf(gpu, launch);
  // One at a time: what runs is short, and equal launches come together.
  const std::lock_guard lock(counts_mutex_);
  if (auto known = Known(key)) return *known;
  const auto code = code_.find(launch.ModuleHash());
  if (code == code_.end()) return std::nullopt;
  const auto record = CountNow(gpu, launch, code->second);
  if (!record) {
    base::Log(
        base::Level::kInfo, "kernel_not_counted",
        {{"name", launch.name.substr(0, kLoggedNameMax)}, {"reason", record.error().message}});
    Keep(key, std::nullopt);
    return std::nullopt;
  }
  Keep(key, *record);
  return record->counts;
}

void CountedKernels::Keep(base::Digest key, const std::optional<Record>& record) {
  if (counts_.size() >= kMostCounts) counts_.clear();
  counts_[key] = record ? std::optional(record->counts) : std::nullopt;
  if (folder_.empty() || !record) return;
  std::error_code ignored;  // Without the folder it is counted again next time.
  std::filesystem::create_directories(folder_, ignored);
  const std::string path = FileOf(key);
  const std::string part = StrCat(path, ".", getpid(), ".part");
  std::ofstream file(part, std::ios::binary);
  file << FormatRecord(*record);
  file.close();
  if (!file || std::rename(part.c_str(), path.c_str()) != 0) std::remove(part.c_str());
}

std::vector<Record> ReadRecords(const std::string& folder) {
  std::set<std::string> files;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    if (entry.path().extension() == kSuffix) files.insert(entry.path().string());
  }
  std::vector<Record> records;
  for (const std::string& file : files) {
    const auto text = ReadFile(file);
    auto record = text ? ParseRecord(*text)
                       : base::Fail(base::ErrorCode::kNotFound, StrCat("no '", file, "'"));
    if (record) records.push_back(std::move(*record));
  }
  std::ranges::sort(records, {}, [](const Record& record) {
    return std::tuple(record.name, record.gpu, record.counts.blocks, record.counts.block.clocks);
  });
  return records;
}

}  // namespace eidolon::timing::count
