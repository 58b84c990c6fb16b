// A fat binary: the container in which compilers put one program for several architectures, as
// machine code (cubins) and PTX text, each perhaps compressed.
//
//   header, 16 bytes:  magic u32, version u16, header bytes u16, bytes that follow u64
//   entry header:      kind u16, version u16, header bytes u32, payload bytes u64,
//                      compressed bytes u32, options offset u32, minor u16, major u16,
//                      architecture u32, name offset u32, name bytes u32, flags u64,
//                      reserved u64, unpacked bytes u64
//   payload            then the next entry
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/machine_code/cubin/bytes.h"
#include "services/machine_code/cubin/target.h"

namespace eidolon::cubin {

inline constexpr std::uint32_t kFatBinaryMagic = 0xba55ed50;

enum class Compression { kNone, kLz4, kZstandard };

struct FatEntry {
  bool is_ptx = false;
  Target target;
  Compression compression = Compression::kNone;
  Bytes payload;                     // As stored.
  std::uint64_t unpacked_bytes = 0;  // Without compression: of the payload.
};

// Views into the caller's bytes, which must outlive it.
class FatBinary {
 public:
  // Entries of unknown kinds (intermediate code, link information) are left out.
  static base::Result<FatBinary> Parse(Bytes bytes);

  std::span<const FatEntry> entries() const { return entries_; }

  // The entry that the driver would load on a device: the most specific, then newest machine code
  // that runs there, else the newest PTX; nullptr when nothing fits.
  const FatEntry* Choose(Capability device) const;

 private:
  std::vector<FatEntry> entries_;
};

// Size in bytes of the container that starts at `start`, read from its header; nothing when the
// magic is wrong. Requires: 16 readable bytes.
std::optional<std::uint64_t> FatBinaryBytes(const void* start);

// The entry's cubin or PTX text.
base::Result<std::vector<std::byte>> Unpack(const FatEntry& entry);

}  // namespace eidolon::cubin
