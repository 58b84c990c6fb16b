#include "services/agent/session/token_sharing.h"

#include <algorithm>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

namespace {

constexpr std::size_t kLookupsMax = 16;
// Sums of fewer elements for each index are of something else: a router's counts, a loss, a flag.
constexpr std::uint64_t kElementsOfARowMin = 16;

// Elements of a row are of two or four bytes, in the table and in what is computed of it.
bool IsRowOf(const iteration::Lookups& lookups, std::uint64_t elements) {
  return lookups.row_bytes == 2 * elements || lookups.row_bytes == 4 * elements;
}

std::uint64_t ElementBytes(std::uint32_t nccl_type) {
  constexpr std::uint64_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};  // ncclDataType_t.
  return nccl_type < std::size(kBytes) ? kBytes[nccl_type] : 1;
}

}  // namespace

void TokenSharing::NoteWork(const iteration::WorkCounts& counts) {
  if (counts.lookups.indices > 0) {
    if (is_over_) lookups_.clear();
    is_over_ = false;
    if (lookups_.size() < kLookupsMax) lookups_.push_back(counts.lookups);
    return;
  }
  const bool scores = std::ranges::any_of(lookups_, [&](const iteration::Lookups& lookups) {
    return lookups.table_rows == counts.gemm.outputs && IsRowOf(lookups, counts.gemm.inputs);
  });
  if (scores) is_over_ = true;
}

void TokenSharing::NoteCalls(std::uint32_t size, std::span<const wire::CommunicationOp> ops) {
  if (is_over_ || size < 2) return;
  for (const wire::CommunicationOp& op : ops) {
    switch (op.kind) {
      case wire::CommunicationKind::kSend:
        is_over_ = true;
        return;
      case wire::CommunicationKind::kAllReduce:
      case wire::CommunicationKind::kReduceScatter:
      case wire::CommunicationKind::kReduce:
        NoteSum(size, op.bytes / ElementBytes(op.data_type));
        break;
      default:
        break;
    }
  }
}

void TokenSharing::NoteSum(std::uint32_t size, std::uint64_t elements) {
  const auto is_of = [&](const iteration::Lookups& lookups) {
    return elements % lookups.indices == 0 && IsRowOf(lookups, elements / lookups.indices);
  };
  if (std::ranges::any_of(lookups_, is_of)) {
    if (sharers_ > 1 && sharers_ != size) is_clear_ = false;
    sharers_ = size;
    return;
  }
  const std::uint64_t indices =
      std::ranges::max(lookups_, {}, &iteration::Lookups::indices).indices;
  if (elements / kElementsOfARowMin >= indices) is_clear_ = false;
}

}  // namespace eidolon::agent::session
