// Tokens per second need the number of tokens, and a table that several ranks look up together
// would be counted once by each of them. So the sums behind a lookup are compared with its rows. A
// sum that fits shows how many ranks share the lookup; one that might be either makes the table
// unclear, and an unclear table is reported as such instead of with a guess.
#include "services/agent/session/token_passes.h"

#include <algorithm>
#include <iterator>

namespace eidolon::agent::session {

namespace wire = ::eidolon::ring;

namespace {

constexpr std::size_t kTablesMax = 64;
constexpr std::size_t kPassesMax = 100'000;  // While no iteration is reported.
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

void TokenPasses::NoteWork(std::uint64_t sequence, const iteration::WorkCounts& counts) {
  const iteration::Lookups& lookups = counts.lookups;
  if (lookups.indices == 0) {
    for (Table& table : tables_) {
      if (table.is_open) table.matrix_flops += counts.matrix_flops;
      if (table.latest.table_rows != counts.gemm.outputs) continue;
      if (!IsRowOf(table.latest, counts.gemm.inputs)) continue;
      const std::uint64_t flops = table.is_open ? table.matrix_flops : counts.matrix_flops;
      table.passes.push_back({.end = sequence, .matrix_flops = flops});
      if (table.passes.size() > kPassesMax) table.passes.pop_front();
      table.is_open = false;
    }
    return;
  }
  const auto known = std::ranges::find_if(tables_, [&](const Table& table) {
    return table.latest.table_rows == lookups.table_rows &&
           table.latest.row_bytes == lookups.row_bytes;
  });
  if (known != tables_.end()) {
    known->latest = lookups;
    known->is_open = true;
    known->matrix_flops = 0;
  } else if (tables_.size() < kTablesMax) {
    tables_.push_back({.latest = lookups});
  }
}

void TokenPasses::NoteCalls(std::uint32_t size, std::span<const wire::CommunicationOp> ops) {
  if (size < 2) return;
  for (const wire::CommunicationOp& op : ops) {
    const bool sums = op.kind == wire::CommunicationKind::kAllReduce ||
                      op.kind == wire::CommunicationKind::kReduceScatter ||
                      op.kind == wire::CommunicationKind::kReduce;
    if (!sums && op.kind != wire::CommunicationKind::kSend) continue;
    for (Table& table : tables_) {
      if (!table.is_open) continue;
      if (sums) {
        NoteSum(size, op.bytes / ElementBytes(op.data_type), &table);
      } else {
        table.is_open = false;
      }
    }
  }
}

void TokenPasses::NoteSum(std::uint32_t size, std::uint64_t elements, Table* table) {
  const std::uint64_t indices = table->latest.indices;
  if (table->latest.row_bytes == 0) {
    // A compiler has fused the lookup: where its forward pass ends is not known, so that the sum
    // may be one of gradients.
    if (elements == indices) table->is_clear = false;
    return;
  }
  if (elements / kElementsOfARowMin < indices) return;
  if (elements % indices == 0 && IsRowOf(table->latest, elements / indices)) {
    if (table->sharers > 1 && table->sharers != size) table->is_clear = false;
    table->sharers = size;
    return;
  }
  // The rows of all ranks, as experts that were given everybody's tokens return them.
  const std::uint64_t part = elements / size;
  if (elements % size == 0 && part % indices == 0 && IsRowOf(table->latest, part / indices)) return;
  table->is_clear = false;
}

std::vector<iteration::TableUse> TokenPasses::Take(std::uint64_t begin, std::uint64_t end) {
  std::vector<iteration::TableUse> uses;
  for (Table& table : tables_) {
    iteration::TableUse use{.rows = table.latest.table_rows,
                            .row_bytes = table.latest.row_bytes,
                            .sharers = table.is_clear ? table.sharers : 0};
    while (!table.passes.empty() && table.passes.front().end < end) {
      if (table.passes.front().end >= begin) use.forward_flops += table.passes.front().matrix_flops;
      table.passes.pop_front();
    }
    if (use.sharers != 1 || use.forward_flops > 0) uses.push_back(use);
  }
  return uses;
}

}  // namespace eidolon::agent::session
