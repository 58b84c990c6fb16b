// Defines what a kernel needs to run again on a real GPU, beside its definition. Only when the
// job's timing service measures; the definitions themselves, and so their identities, stay the
// same.
#pragma once

#include <cstdint>

namespace eidolon::ring {

// In SegmentHeader::unknown_reads, like kComputeValues: kernels are measured. Definitions come with
// their ReplayContext, and ranks save the code of modules in the run directory, as
// modules/<32 hexadecimal digits: the 16 bytes of workload::Kernel::module_hash>.code.
inline constexpr std::uint32_t kReplayKernels = 0x200;
// Likewise: ranks save the code of modules, without contexts; kKeepOthersCode: only of kernels that
// are not PyTorch's own, which the timing service knows by their names.
inline constexpr std::uint32_t kKeepCode = 0x400;
inline constexpr std::uint32_t kKeepOthersCode = 0x800;

// Follows a kernel's definition, padded to 8, in its DefineWork record, which is longer then. Tail:
// the parameter bytes with their pointers, padded to 8, then ReplayRange[range_count].
struct ReplayContext {
  std::uint64_t magic;            // kReplayMagic.
  std::uint32_t parameter_bytes;  // As in the definition.
  std::uint32_t range_count;
};
inline constexpr std::uint64_t kReplayMagic = 0x79616c7065526465u;

// Emulated memory that the parameters point into.
struct ReplayRange {
  std::uint64_t begin;
  std::uint64_t bytes;
};

}  // namespace eidolon::ring
