// Flows without end: whether a long simulation keeps its memory and its speed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace eidolon::network::replay {

struct ChurnOptions {
  std::uint32_t nics = 8192;  // One flow each, towards a NIC drawn at random; then the next.
  std::uint64_t flows = 10'000'000;
};

struct ChurnResult {
  std::uint64_t events = 0;
  std::size_t bytes_empty = 0;    // Of the engine, before the first flow,
  std::size_t bytes_full = 0;     // with a flow on every NIC,
  std::size_t bytes_begin = 0;    // after a tenth of the flows,
  std::size_t bytes_end = 0;      // and after the last.
  std::uint64_t uncertified = 0;  // Looks at the shares (ten in all) that found them not max-min.
};

ChurnResult Churn(const ChurnOptions& options);

}  // namespace eidolon::network::replay
