#include "services/network/communicator/row_calls.h"

#include <algorithm>
#include <tuple>

#include "services/base/text.h"
#include "services/contract/folding/images.h"
#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {

namespace {

// Rows call the same within a step or two of each other.
constexpr std::size_t kCalledMax = 4096;

bool IsAlike(const Operation& a, const Operation& b) {
  if (a.kind != b.kind || a.data_type != b.data_type || a.reduction != b.reduction ||
      a.root != b.root) {
    return false;
  }
  return a.data_type == kInt8 || a.data_type == kUint8 || a.bytes == b.bytes;
}

}  // namespace

std::optional<RowCalls::Other> RowCalls::Add(const RowBroadcasts::Row& row, std::uint32_t rank,
                                             std::uint64_t sequence, const Operation& operation) {
  auto& called = called_[row];
  if (!called.empty() && sequence < called.begin()->first) return std::nullopt;
  const auto [at, is_first] = called.try_emplace(sequence, Other{rank, operation});
  if (called.size() > kCalledMax) called.erase(called.begin());
  if (is_first || IsAlike(at->second.operation, operation)) return std::nullopt;
  return at->second;
}

std::string DescribeDifference(const RowCalls::Other& a, const RowCalls::Other& b) {
  const auto& [first, second] = a.rank < b.rank ? std::tie(a, b) : std::tie(b, a);
  return base::StrCat("rank ", first.rank, " calls ", Describe(first.operation), "; rank ",
                      second.rank, " calls ", Describe(second.operation));
}

std::vector<folding::Dimension> DifferenceOfRows(std::span<const folding::Dimension> dimensions,
                                                 std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t job_ranks) {
  const std::uint32_t origin_a = folding::OriginOf(a, dimensions);
  const std::uint32_t origin_b = folding::OriginOf(b, dimensions);
  if (origin_a == origin_b || dimensions.empty()) return {};
  // From the outside: rows lie in different blocks of the outermost dimension, or in the same block
  // of one and between the steps of it.
  std::uint32_t outer = job_ranks;
  for (std::size_t i = dimensions.size(); i-- > 0;) {
    const std::uint32_t block = dimensions[i].stride * dimensions[i].size;
    if (origin_a % outer / block != origin_b % outer / block) {
      return {{.stride = block, .size = outer / block}};
    }
    outer = dimensions[i].stride;
  }
  return {{.stride = 1, .size = outer}};
}

}  // namespace eidolon::network::communicator
