// The work definition (work.h) of another library call: of cuFFT, cuSOLVER, cuSPARSE and others.
#pragma once

#include <cstdint>
#include <tuple>

#include "services/contract/workload/fields.h"
#include "services/contract/workload/work_header.h"

namespace eidolon::workload {

// Work of a library by name and numbers. Tail: name (name_bytes), then `number_count` int64 values
// that size the call. flops and bytes are the shim's own count from the call's arguments, for the
// roofline.
struct Library {
  WorkHeader header{WorkKind::kLibrary, sizeof(Library)};
  std::uint64_t flops = 0;
  std::uint64_t memory_bytes = 0;
  DataType type = 0;
  std::uint32_t name_bytes = 0;
  std::uint32_t number_count = 0;
  std::uint32_t reserved = 0;
};
template <>
inline constexpr auto kFields<Library> = std::tuple{
    Field{"flops", &Library::flops, Key::kSize},
    Field{"memory_bytes", &Library::memory_bytes, Key::kSize},
    Field{"type", &Library::type, Key::kShape},
    Field{"name_bytes", &Library::name_bytes, Key::kOther, kTextBytesMax},
    Field{"number_count", &Library::number_count, Key::kOther, kTextBytesMax},
    Field{"reserved", &Library::reserved},
};

}  // namespace eidolon::workload
