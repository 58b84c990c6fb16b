#include "services/network/communicator/collective_book.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::communicator {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

CollectiveBook::CollectiveBook(std::int32_t size, std::shared_ptr<const Ghosts> ghosts)
    : size_(size), ghosts_(std::move(ghosts)), callers_(size) {
  if (ghosts_ != nullptr) callers_ -= static_cast<std::int32_t>(ghosts_->count());
}

bool NumberSet::Insert(std::uint64_t number) {
  if (Contains(number)) return false;
  above_.insert(number);
  while (!above_.empty() && *above_.begin() == floor_) {
    above_.erase(above_.begin());
    ++floor_;
  }
  return true;
}

std::vector<std::int32_t> CollectiveBook::RanksAt(const Entry& entry, Stage stage) {
  std::vector<std::int32_t> ranks;
  for (std::size_t rank = 0; rank < entry.stages.size(); ++rank) {
    if (entry.stages[rank] == stage) ranks.push_back(static_cast<std::int32_t>(rank));
  }
  return ranks;
}

base::Error CollectiveBook::Mismatch(const Entry& entry, std::uint64_t sequence, std::int32_t rank,
                                     const Operation& operation, const NameRanks& name_of) const {
  std::vector<std::int32_t> others = RanksAt(entry, Stage::kIssued);
  const std::vector<std::int32_t> posted = RanksAt(entry, Stage::kPosted);
  others.insert(others.end(), posted.begin(), posted.end());
  std::sort(others.begin(), others.end());
  std::string first =
      StrCat(name_of(others), others.size() == 1 ? " calls " : " call ", Describe(entry.operation));
  std::string second = StrCat(name_of({rank}), " calls ", Describe(operation));
  // The lower rank first, whoever came first.
  if (rank < others.front()) std::swap(first, second);
  return {ErrorCode::kFailedPrecondition, StrCat("members call different operations as collective ",
                                                 sequence, ": ", first, "; ", second)};
}

base::Result<std::vector<CollectiveBook::Values>> CollectiveBook::Issue(
    std::uint64_t sequence, std::int32_t rank, const Operation& operation, Payload input,
    const NameRanks& name_of, const CallGroup& group) {
  const auto at = static_cast<std::size_t>(rank);
  CHECK(at < static_cast<std::size_t>(size_));
  if (done_.Contains(sequence)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(name_of({rank}), " calls collective ", sequence, ", which has ended"));
  }
  Entry& entry = entries_[sequence];
  if (entry.stages.empty()) {
    entry.operation = operation;
    entry.stages.assign(static_cast<std::size_t>(size_), Stage::kAbsent);
    for (std::size_t member = 0; member < entry.stages.size(); ++member) {
      if (IsGhost(member)) entry.stages[member] = Stage::kMirrored;
    }
    entry.inputs.resize(static_cast<std::size_t>(size_));
  }
  if (entry.stages[at] != Stage::kAbsent) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(name_of({rank}), " calls collective ", sequence, " twice"));
  }
  if (!Matches(entry.operation, operation)) {
    return std::unexpected(Mismatch(entry, sequence, rank, operation, name_of));
  }
  entry.stages[at] = Stage::kIssued;
  entry.inputs[at] = std::move(input);
  if (++entry.issued < callers_) return std::vector<Values>();
  return Complete(sequence, &entry, group);
}

std::vector<CollectiveBook::Values> CollectiveBook::Complete(std::uint64_t sequence, Entry* entry,
                                                             const CallGroup& group) {
  const Operation& operation = entry->operation;
  const auto size = static_cast<std::size_t>(size_);
  std::vector<Values> all;
  const bool any = std::any_of(entry->inputs.begin(), entry->inputs.end(),
                               [](const Payload& payload) { return payload.has_value(); });
  const std::size_t guessed =
      any && ghosts_ != nullptr ? ghosts_->Mirror(operation, &entry->inputs) : 0;
  const bool is_broadcast = operation.kind == Kind::kBroadcast;
  const bool waits_for_group =
      is_broadcast && group.size > 1 && ghosts_ != nullptr && CarriesValues(operation, size);
  if (!waits_for_group || !IsGhost(static_cast<std::size_t>(operation.root))) {
    if (any || CarriesValues(operation, size)) {
      all.push_back({.sequence = sequence,
                     .results = ResultsOf(operation, entry->inputs),
                     .guessed = guessed});
    }
  }
  if (waits_for_group) {
    OpenGroup& open = groups_[group.first];
    if (IsGhost(static_cast<std::size_t>(operation.root))) {
      open.of_ghosts.emplace_back(sequence, operation);
    } else {
      open.given[operation.root] = entry->inputs[static_cast<std::size_t>(operation.root)];
    }
    if (++open.called == group.size) {
      for (const auto& [ghosts_sequence, broadcast] : open.of_ghosts) {
        std::size_t unruly = 0;
        const Payload given = ghosts_->GivenBy(broadcast, open.given, &unruly);
        all.push_back(
            {.sequence = ghosts_sequence, .results = std::vector(size, given), .guessed = unruly});
      }
      groups_.erase(group.first);
    }
  }
  entry->inputs.clear();
  return all;
}

base::Result<std::optional<CollectiveBook::Ready>> CollectiveBook::Post(std::uint64_t sequence,
                                                                        std::int32_t rank,
                                                                        base::SimTime ready) {
  const auto found = entries_.find(sequence);
  const auto at = static_cast<std::size_t>(rank);
  if (found == entries_.end() || found->second.stages[at] != Stage::kIssued) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("rank ", rank, " reaches collective ", sequence,
                       found == entries_.end() || found->second.stages[at] == Stage::kAbsent
                           ? " without having called it"
                           : " twice"));
  }
  Entry& entry = found->second;
  entry.stages[at] = Stage::kPosted;
  entry.ready = std::max(entry.ready, ready);
  if (++entry.posted < callers_) return std::nullopt;
  Ready result{.sequence = sequence, .start = entry.ready, .operation = entry.operation};
  entries_.erase(found);
  done_.Insert(sequence);
  return result;
}

std::vector<CollectiveBook::Incomplete> CollectiveBook::Unfinished() const {
  std::vector<Incomplete> all;
  for (const auto& [sequence, entry] : entries_) {
    all.push_back({.sequence = sequence,
                   .operation = &entry.operation,
                   .waiting = RanksAt(entry, Stage::kPosted),
                   .behind = RanksAt(entry, Stage::kIssued),
                   .missing = RanksAt(entry, Stage::kAbsent)});
  }
  return all;
}

bool CollectiveBook::Needs(std::int32_t rank) const {
  return std::any_of(entries_.begin(), entries_.end(), [rank](const auto& entry) {
    const Stage stage = entry.second.stages[static_cast<std::size_t>(rank)];
    return stage != Stage::kPosted && stage != Stage::kMirrored;
  });
}

}  // namespace eidolon::network::communicator
