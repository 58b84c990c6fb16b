// Is one record what its header says? The shim writes the ring from inside the user's process,
// where a stray pointer may write too, so the agent trusts no size, count or index before this said
// yes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "services/base/error.h"
#include "services/contract/ring/memory_block.h"
#include "services/contract/ring/record.h"

namespace eidolon::agent::ring {

namespace wire = ::eidolon::ring;

// 53 days: a clock beyond it is damage.
inline constexpr std::uint64_t kClockMaxPs = std::uint64_t{1} << 62;
// A pebibyte: beyond it nothing is a program's doing.
inline constexpr std::int64_t kBookedMaxBytes = std::int64_t{1} << 50;

// Checks kind, clock, sizes of fixed part and tails, indices into tails, device, reply slot, and
// what else is wrong whatever came before. The error names the kind and what is wrong. Identifiers
// are not checked: that needs the session's state. Requires: `record` holds exactly header.bytes
// bytes, 8-byte aligned, at least a RecordHeader.
base::Result<void> CheckRecord(std::span<const std::byte> record, std::uint32_t device_count);

// The kind's name, for messages: "launch".
std::string_view Name(wire::RecordKind kind);

// A name that follows a fixed part (MarkRecord). Requires: CheckRecord passed.
std::string_view NameAfter(const wire::MarkRecord& record);
// The list that follows it. Requires: CheckRecord passed.
std::span<const wire::OptimizerTensor> TensorsAfter(const wire::OptimizerTensorsRecord& record);

}  // namespace eidolon::agent::ring
