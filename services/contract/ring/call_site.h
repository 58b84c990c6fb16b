// Finds where a program calls NCCL. In a folded job the text stands behind the payload of a
// CommunicationRecord, to the record's end: "train.py:40", empty where the shim knows no line.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "services/contract/ring/communication_record.h"

namespace eidolon::ring {

inline constexpr std::uint64_t kCallSiteBytesMax = 256;

// Returns the whole text of a checked record; bytes that are not ASCII become question marks.
// Records are padded with zeros.
inline std::string CallSiteOf(std::span<const std::byte> record) {
  const auto& call = *reinterpret_cast<const CommunicationRecord*>(record.data());
  const auto rest = record.subspan(
      sizeof(call) + std::uint64_t{call.op_count} * sizeof(CommunicationOp) + call.payload_bytes);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  std::string site(text.substr(0, text.find('\0')).substr(0, kCallSiteBytesMax));
  for (char& c : site) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return site;
}

}  // namespace eidolon::ring
