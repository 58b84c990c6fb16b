#include "shim/value/compute/sample_blocks.h"

#include <algorithm>

namespace eidolon::shim::compute {

void MakeUnique(std::vector<std::uint64_t>& blocks) {
  std::ranges::sort(blocks);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

std::vector<std::uint64_t> OuterRows(const interpret::Dims& grid) {
  std::vector<std::uint64_t> rows;
  for (const std::uint64_t z : {0u, grid.z - 1}) {
    for (const std::uint64_t y : {0u, grid.y - 1}) rows.push_back((z * grid.y + y) * grid.x);
  }
  MakeUnique(rows);
  return rows;
}

std::vector<std::uint64_t> SampleBlocks(const interpret::Dims& grid) {
  std::vector<std::uint64_t> blocks;
  for (const std::uint64_t row : OuterRows(grid)) {
    for (const std::uint64_t x : {0u, grid.x / 3, grid.x - 1}) blocks.push_back(row + x);
  }
  const std::uint64_t row = std::uint64_t{grid.z / 2} * grid.y + grid.y / 2;
  blocks.push_back(row * grid.x + grid.x / 2);
  MakeUnique(blocks);
  return blocks;
}

std::vector<std::uint64_t> CheckBlocks(const interpret::Dims& grid) {
  constexpr std::uint64_t kCount = 12;
  // Parts of a whole of 2^64, of the golden ratio: spread evenly.
  constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;
  __extension__ typedef unsigned __int128 Wide;
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 1; i <= kCount; ++i) {
    blocks.push_back(static_cast<std::uint64_t>(Wide{i * kStride} * grid.volume() >> 64));
  }
  return blocks;
}

}  // namespace eidolon::shim::compute
