// The work definition (work.h) of a kernel launch.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "services/contract/workload/fields.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

struct Dim3 {
  std::uint32_t x, y, z;
  std::uint64_t Count() const { return std::uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

struct ParameterSlot {
  std::uint32_t offset;
  std::uint32_t bytes;
};

// Tail: name (name_bytes), ParameterSlot[parameter_count], parameter bytes (parameter_bytes). The
// last slot may be a GroupedGemm.
struct Kernel {
  WorkHeader header{WorkKind::kKernel, sizeof(Kernel)};
  std::uint64_t module_hash[2]{};  // base::Hash128 of the cubin, 0 when unknown.
  Dim3 grid{1, 1, 1};
  Dim3 block{1, 1, 1};
  Dim3 cluster{};  // 0,0,0 without clusters.
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t registers = 0;                  // Per thread.
  std::uint32_t blocks_per_multiprocessor = 0;  // By the occupancy rules.
  std::uint32_t cooperative = 0;
  std::uint32_t name_bytes = 0;  // Mangled name.
  std::uint32_t parameter_count = 0;
  std::uint32_t parameter_bytes = 0;
  std::uint32_t reserved = 0;

  // Its 16 bytes; empty when it is unknown.
  std::string ModuleHash() const {
    if (module_hash[0] == 0 && module_hash[1] == 0) return {};
    return {reinterpret_cast<const char*>(module_hash), sizeof(module_hash)};
  }
};
template <>
inline constexpr auto kFields<Kernel> = std::tuple{
    Field{"module_hash", &Kernel::module_hash},
    Field{"grid", &Kernel::grid, Key::kSize},
    Field{"block", &Kernel::block, Key::kShape},
    Field{"cluster", &Kernel::cluster, Key::kShape},
    Field{"dynamic_shared_bytes", &Kernel::dynamic_shared_bytes, Key::kSize},
    Field{"static_shared_bytes", &Kernel::static_shared_bytes},
    Field{"registers", &Kernel::registers},
    Field{"blocks_per_multiprocessor", &Kernel::blocks_per_multiprocessor},
    Field{"cooperative", &Kernel::cooperative},
    Field{"name_bytes", &Kernel::name_bytes, Key::kOther, kTextBytesMax},
    Field{"parameter_count", &Kernel::parameter_count, Key::kOther, kTextBytesMax},
    Field{"parameter_bytes", &Kernel::parameter_bytes, Key::kOther, kTextBytesMax},
    Field{"reserved", &Kernel::reserved},
};

}  // namespace eidolon::workload
