// Numbers by which shim and agent find out that somebody else wrote into the memory they share: a
// stray pointer of the user's program, or a program that means harm to its own job. Not
// cryptographic.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "services/base/hash.h"
#include "services/contract/ring/layout.h"
#include "services/contract/ring/record_header.h"

namespace eidolon::ring {

inline constexpr std::uint64_t kCheckSeed = 0xa0761d6478bd642fu;
inline constexpr std::uint64_t kCheckStep = 0xe7037ed1a0b428dbu;

// RecordHeader::check: of a record's other bytes and of the position it lies at, so that one that
// is left from an earlier round of the ring is none. Requires: `bytes` is a multiple of 8, at least
// sizeof(RecordHeader).
inline std::uint64_t RecordCheck(std::uint64_t position, const void* record, std::size_t bytes) {
  static_assert(offsetof(RecordHeader, check) == 16 && sizeof(RecordHeader) == 24);
  const auto* at = static_cast<const std::byte*>(record);
  std::uint64_t words[2];
  std::memcpy(words, at, sizeof(words));
  std::uint64_t state =
      base::FoldedMultiply(words[0] ^ std::rotl(position, 32) ^ kCheckSeed, words[1] ^ kCheckStep);
  at += sizeof(RecordHeader);
  std::size_t left = bytes - sizeof(RecordHeader);
  for (; left >= sizeof(words); left -= sizeof(words), at += sizeof(words)) {
    std::memcpy(words, at, sizeof(words));
    state = base::FoldedMultiply(words[0] ^ kCheckSeed, words[1] ^ state ^ kCheckStep);
  }
  if (left == 0) return state;
  std::memcpy(words, at, sizeof(words[0]));
  return base::FoldedMultiply(words[0] ^ state, kCheckStep);
}

// ReplySlot::check: of the answer in slot number `slot` and its payload; never 0. Requires:
// slot.payload_bytes bytes at `payload`.
inline std::uint64_t ReplyCheck(std::uint32_t number, const ReplySlot& slot, const void* payload) {
  const std::uint64_t kind = std::uint64_t{static_cast<std::uint32_t>(slot.status)} << 32 | number;
  std::uint64_t state = base::FoldedMultiply(slot.value_ps ^ kCheckSeed,
                                             slot.extra ^ std::rotl(kind, 16) ^ kCheckStep);
  state = base::FoldedMultiply(state ^ slot.payload_bytes, kind ^ kCheckStep);
  if (slot.payload_bytes != 0) state = base::Hash64(payload, slot.payload_bytes, state);
  return state | 1;
}

}  // namespace eidolon::ring
