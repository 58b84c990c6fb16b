#include "services/network/communicator/row_broadcasts.h"

#include <algorithm>

namespace eidolon::network::communicator {

namespace {

// Rows call their broadcasts within a step or two of each other.
constexpr std::size_t kGivenMax = 1024;

}  // namespace

std::optional<RowBroadcasts::Row> RowBroadcasts::Enter(std::span<const std::uint32_t> ranks) {
  if (!fold_.is_folded() || ranks.size() >= fold_.ranks()) return std::nullopt;
  const auto lattice = folding::LatticeOf(ranks);
  if (!lattice || !folding::FillsJob(*lattice, fold_.ranks())) return std::nullopt;
  const std::uint32_t ordinal = entered_[{lattice->dimensions, lattice->origin}]++;
  return Row{lattice->dimensions, fold_.ClassOf(lattice->origin), ordinal};
}

std::optional<std::uint32_t> RowBroadcasts::GiverOf(const Key& key) const {
  for (const std::uint32_t rank : fold_.live()) {
    const std::uint32_t origin = folding::OriginOf(rank, key.row.dimensions);
    if (fold_.ClassOf(origin) == key.row.row_class &&
        folding::PlaceIn(rank, key.row.dimensions) == static_cast<std::uint32_t>(key.root)) {
      return rank;
    }
  }
  return std::nullopt;
}

std::vector<RowBroadcasts::Waiter> RowBroadcasts::Give(const Row& row, std::int32_t root,
                                                       std::uint64_t sequence,
                                                       const Payload& payload) {
  Entries& table = tables_[{row, root}];
  // Of several live ranks at this place, the first to call speaks for them: they are alike.
  table.given.emplace(sequence, payload);
  if (table.given.size() > kGivenMax) table.given.erase(table.given.begin());
  auto waiting = table.waiting.extract(sequence);
  return waiting.empty() ? std::vector<Waiter>() : std::move(waiting.mapped());
}

RowBroadcasts::Answer RowBroadcasts::Ask(const Row& row, std::int32_t root, std::uint64_t sequence,
                                         Waiter waiter, Payload* given) {
  const Key key = {row, root};
  if (!GiverOf(key)) return Answer::kNobodyKnows;
  Entries& table = tables_[key];
  const auto found = table.given.find(sequence);
  if (found != table.given.end()) {
    *given = found->second;
    return Answer::kGiven;
  }
  // Given and forgotten: the rows are far apart.
  if (!table.given.empty() && sequence < table.given.begin()->first) return Answer::kNobodyKnows;
  table.waiting[sequence].push_back(waiter);
  return Answer::kLater;
}

std::vector<std::pair<RowBroadcasts::Waiter, std::uint32_t>> RowBroadcasts::Waiting() const {
  std::vector<std::pair<Waiter, std::uint32_t>> all;
  for (const auto& [key, table] : tables_) {
    const auto giver = GiverOf(key);
    for (const auto& [sequence, waiters] : table.waiting) {
      for (const Waiter& waiter : waiters) all.emplace_back(waiter, giver.value_or(0));
    }
  }
  return all;
}

}  // namespace eidolon::network::communicator
