// The work definition (work.h) of a copy or a memset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/fields.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

struct Copy {
  WorkHeader header{WorkKind::kCopy, sizeof(Copy)};
  CopyKind kind = CopyKind::kUnspecified;
  std::uint32_t pinned = 0;         // The host side is page locked.
  std::uint64_t bytes = 0;          // In all.
  std::uint64_t row_bytes = 0;      // 2D and 3D copies: of a contiguous row; else equal to bytes.
  std::int32_t peer_device = -1;    // kPeer: the destination's server-local index; else -1.
  std::uint32_t element_bytes = 0;  // Memset: width of the pattern.
};
template <>
inline constexpr auto kFields<Copy> = std::tuple{
    Field{"kind", &Copy::kind, Key::kOther, static_cast<std::uint64_t>(CopyKind::kMemset)},
    Field{"pinned", &Copy::pinned, Key::kFlag},
    Field{"bytes", &Copy::bytes, Key::kSize},
    Field{"row_bytes", &Copy::row_bytes, Key::kSize},
    Field{"peer_device", &Copy::peer_device},
    Field{"element_bytes", &Copy::element_bytes},
};

// Bytes of a definition of the first layout.
template <>
inline constexpr std::size_t kLeastBytes<Copy> = 40;

}  // namespace eidolon::workload
