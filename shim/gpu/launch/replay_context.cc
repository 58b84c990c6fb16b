// A kernel that is run again on a real GPU needs memory of the same shape at its pointers, so each
// pointer brings the extent that it leads into. Parameters get back what was blanked for the work's
// identity, pointers and numbers alike. Code goes into a file named after its content, written once
// and by renaming, as several ranks share the folder. Without the file the kernel is not measured,
// and nothing fails.
#include "shim/gpu/launch/replay_context.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/replace_file.h"
#include "services/contract/ring/replay.h"
#include "services/machine_code/cubin/image.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

// A kernel that spans mappings of one reservation reaches those that follow the one it points into.
constexpr int kFollowersMax = 4096;

// The allocation of an address, and mappings that continue it without a gap.
void AddRanges(std::uint64_t address, std::vector<ring::ReplayRange>& ranges) {
  auto extent = FindExtent(address);
  for (int i = 0; extent.has_value() && i < kFollowersMax; ++i) {
    const ring::ReplayRange range{extent->begin, extent->bytes};
    const bool known = std::any_of(ranges.begin(), ranges.end(),
                                   [&](const auto& other) { return other.begin == range.begin; });
    if (known) return;
    ranges.push_back(range);
    if (!HoldsMappings(range.begin, 1)) return;  // One of cudaMalloc: what follows is another.
    extent = FindExtent(range.begin + range.bytes);
  }
}

std::string FileOf(base::Digest content) {
  const char* folder = std::getenv("EIDOLON_RUN_DIR");
  if (folder == nullptr) return "";
  char bytes[16];
  std::memcpy(bytes, &content.high, 8);
  std::memcpy(bytes + 8, &content.low, 8);
  return std::string(folder) + "/modules/" + base::Hex({bytes, sizeof(bytes)}) + ".code";
}

}  // namespace

bool WantsReplays(const core::Session& session) noexcept {
  return (session.header().unknown_reads & ring::kReplayKernels) != 0;
}

bool WantsCode(const core::Session& session, std::string_view kernel) noexcept {
  const std::uint32_t wanted = session.header().unknown_reads;
  if ((wanted & ring::kKeepCode) != 0) return true;
  // PyTorch's namespaces are recognised as C++ mangles them.
  const bool is_torch = kernel.find("2at6native") != std::string_view::npos ||
                        kernel.find("14at_cuda_detail") != std::string_view::npos ||
                        kernel.find("2at4cuda") != std::string_view::npos;
  return (wanted & ring::kKeepOthersCode) != 0 && !is_torch;
}

std::vector<std::byte> MakeReplayContext(std::span<const std::byte> blanked,
                                         std::uint32_t parameter_bytes,
                                         std::span<const compute::PointerWord> pointers,
                                         std::span<const compute::NumberWord> numbers) {
  std::vector<std::byte> parameters(blanked.begin(), blanked.end());
  std::vector<ring::ReplayRange> ranges;
  for (const compute::PointerWord& word : pointers) {
    std::memcpy(parameters.data() + word.at, &word.address, sizeof(word.address));
    AddRanges(word.address, ranges);
  }
  for (const compute::NumberWord& word : numbers) {
    std::memcpy(parameters.data() + word.at, &word.value, sizeof(word.value));
  }
  const ring::ReplayContext context{ring::kReplayMagic, parameter_bytes,
                                    static_cast<std::uint32_t>(ranges.size())};
  std::vector<std::byte> bytes(sizeof(context) + parameters.size() +
                               ranges.size() * sizeof(ring::ReplayRange));
  std::byte* to = bytes.data();
  const auto put = [&to](const void* from, std::size_t size) {
    if (size != 0) std::memcpy(to, from, size);
    to += size;
  };
  put(&context, sizeof(context));
  put(parameters.data(), parameters.size());
  put(ranges.data(), ranges.size() * sizeof(ring::ReplayRange));
  return bytes;
}

void SaveModule(const Library& library) {
  static std::mutex mutex;
  static auto* const saved = new std::set<base::Digest>;
  const base::Digest content = library.index().header().content;
  const std::lock_guard guard(mutex);
  if (!saved->insert(content).second) return;
  const std::string path = FileOf(content);
  if (path.empty() || access(path.c_str(), R_OK) == 0) return;
  const auto image = cubin::FindImage(library.image());
  if (!image) return;
  const ring::DeviceProperties& device = PropertiesOf(0);
  const auto code = cubin::CodeFor(*image, {device.compute_major, device.compute_minor});
  // Without the file nothing is measured.
  if (code) base::ReplaceFile(path, *code);
}

}  // namespace eidolon::shim::gpu
