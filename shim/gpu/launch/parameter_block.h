// The parameters of a launch as one block of bytes, and taking out of it what differs from launch
// to launch of the same work. Inline, because every launch passes here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "services/contract/workload/grouped_gemm.h"
#include "services/contract/workload/pointer_tag.h"
#include "services/contract/workload/work.h"
#include "shim/gpu/launch/found_words.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/module/module.h"
#include "shim/value/compute/launch.h"

namespace eidolon::shim::gpu {

// Parameter blocks of today's architectures end below 32 KiB.
inline constexpr std::size_t kLargestParameters = 32 << 10;

// The block of bytes that the device would read, with pointers blanked. Only `size` bytes are set.
struct ParameterBlock {
  alignas(8) std::byte bytes[kLargestParameters + sizeof(workload::GroupedGemm)];
  std::size_t size = 0;  // A multiple of 8.
  // Offset of a grouped GEMM's sizes, the last bytes; 0 without.
  std::size_t gemm = 0;
};

inline void CopyParameter(std::byte* to, const void* from, std::uint32_t bytes) {
  if (bytes == 8) {  // Most parameters are pointers or counts.
    std::memcpy(to, from, 8);
  } else if (bytes == 4) {
    std::memcpy(to, from, 4);
  } else {
    std::memcpy(to, from, bytes);
  }
}

// Lays the parameters out as the kernel reads them. False when one is missing.
inline bool Gather(const Kernel& kernel, const LaunchParameters& from, ParameterBlock& block) {
  const std::uint32_t size = kernel.row->parameter_bytes;
  block.size = (size + 7u) & ~std::size_t{7};
  if (size == 0) return true;
  if (block.size > kLargestParameters) return false;
  if (from.packed != nullptr) {
    if (from.packed_bytes < size) return false;
    std::memset(block.bytes + block.size - 8, 0, 8);
    std::memcpy(block.bytes, from.packed, size);
    return true;
  }
  if (from.pointers == nullptr) return false;
  std::memset(block.bytes, 0, block.size);  // Also what lies between parameters.
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const cubin::Parameter& parameter = kernel.parameters[i];
    if (from.pointers[i] == nullptr) return false;
    CopyParameter(block.bytes + parameter.offset, from.pointers[i], parameter.bytes);
  }
  return true;
}

// Values that were taken out of a block.
struct FoundInBlock {
  FoundWords<compute::PointerWord> pointers;
  FoundWords<compute::NumberWord> numbers;
};

// Blanks every word that points into emulated device memory, telling `note` its place and address.
template <typename Note>
void BlankPointers(ParameterBlock& block, Note&& note) {
  for (std::uint32_t at = 0; at < block.size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, block.bytes + at, 8);
    if (!HoldsDeviceAddress(word)) continue;
    note(at, word);
    word = workload::kPointerTag | (word & 0xff);
    std::memcpy(block.bytes + at, &word, 8);
  }
}

}  // namespace eidolon::shim::gpu
