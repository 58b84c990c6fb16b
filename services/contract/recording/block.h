// A recording is a file of blocks, one behind another (docs/recording.md). Every block names
// itself, so the files of several servers are put together by writing them behind each other.
//
//   BlockHeader  payload (bytes, padded to 8)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/error.h"

namespace eidolon::recording {

// "EidRecrd" in little endian.
inline constexpr std::uint64_t kMagic = 0x6472636552646945;
// Grows with every change of blocks or entries; entries also depend on ring::kVersion.
inline constexpr std::uint32_t kVersion = 1;

enum class BlockKind : std::uint32_t {
  kJob = 1,   // JSON text: what was run, and what was predicted.
  kRank = 2,  // RankHeader and the rank's entries (entry.h) as one frame of Zstandard.
};

struct BlockHeader {
  std::uint64_t magic;
  std::uint32_t version;
  BlockKind kind;
  std::uint64_t bytes;  // Of the payload, without what pads it to 8.
  std::uint64_t check;  // base::Hash64 of the payload.
};
static_assert(sizeof(BlockHeader) == 32);

struct RankHeader {
  std::uint32_t server;
  std::int32_t rank;
  std::int32_t local_rank;
  std::uint32_t ring_version;  // ring::kVersion of who wrote it.
  std::uint32_t device_count;  // Of its server.
  std::uint32_t ended;         // 1: the program ended by itself; 0: it was ended.
  std::uint64_t entries;
  std::uint64_t entry_bytes;  // Before compression.
  // Answers that the program had and that are not kept, although it may have decided by them:
  // whether work was done, and how long it took.
  std::uint64_t queries;
  std::uint64_t reserved[2];
};
static_assert(sizeof(RankHeader) == 64);

// Padding included.
constexpr std::size_t PaddedBytes(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// Header of a block with this payload, given in parts.
BlockHeader HeaderOf(BlockKind kind, std::span<const std::span<const std::byte>> payload);

struct Block {
  BlockKind kind = BlockKind::kJob;
  std::span<const std::byte> payload;
};
// Takes a file apart and checks every block. Errors (kCorrupt, kUnsupported) say where.
// Requires: `file` is 8-byte aligned and outlives the blocks.
base::Result<std::vector<Block>> ReadBlocks(std::span<const std::byte> file);

}  // namespace eidolon::recording
