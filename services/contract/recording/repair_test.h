// Repairs, for tests and fuzzers, bytes of recordings so that they get past the checks of blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "services/contract/recording/block.h"
#include "services/contract/ring/server_page.h"

namespace eidolon::recording {

// The header that a writer gives to this payload.
inline BlockHeader RightHeader(BlockKind kind, std::span<const std::byte> payload) {
  // A writer hashes a rank's header and entries one after the other.
  const std::size_t first =
      kind == BlockKind::kRank && payload.size() >= sizeof(RankHeader) ? sizeof(RankHeader) : 0;
  if (first == 0) return HeaderOf(kind, std::array{payload});
  return HeaderOf(kind, std::array{payload.first(first), payload.subspan(first)});
}

// Computes the check of every block anew, up to the first that does not fit into the file.
inline void RepairChecks(std::span<std::byte> file) {
  for (std::size_t at = 0; file.size() - at >= sizeof(BlockHeader);) {
    BlockHeader header;
    std::memcpy(&header, file.data() + at, sizeof(header));
    const std::size_t room = file.size() - at - sizeof(header);
    if (header.bytes > room || PaddedBytes(header.bytes) > room) return;
    header.check = RightHeader(header.kind, file.subspan(at + sizeof(header), header.bytes)).check;
    std::memcpy(file.data() + at, &header, sizeof(header));
    at += sizeof(header) + PaddedBytes(header.bytes);
  }
}

// Puts a block with this payload behind the file.
inline void AppendBlock(BlockKind kind, std::span<const std::byte> payload,
                        std::vector<std::byte>* file) {
  const BlockHeader header = RightHeader(kind, payload);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  file->insert(file->end(), bytes.begin(), bytes.end());
  file->insert(file->end(), payload.begin(), payload.end());
  file->resize(PaddedBytes(file->size()));
}

}  // namespace eidolon::recording
