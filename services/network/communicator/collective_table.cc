// A collective has two phases, because NCCL returns from a call long before the stream reaches it.
// Issue compares the members' calls and combines their values once the last member has called. Post
// waits for the last stream, and the collective starts at the latest of the members' times. Both
// depend on the set of messages alone, never on their order, so a repeated run gives the same
// values and times. An ended collective stays in `done_`, so that a repeated call is an error; the
// set keeps a floor and exceptions, and its size does not follow the length of the job.
#include "services/network/communicator/collective_table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::communicator {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

CollectiveTable::CollectiveTable(std::int32_t size,
                                 std::shared_ptr<const MirroredRanks> mirrored_ranks)
    : size_(size), mirrored_ranks_(std::move(mirrored_ranks)) {
  if (mirrored_ranks_ != nullptr && mirrored_ranks_->count() > 0) {
    callers_ = mirrored_ranks_->live();
  } else {
    callers_.resize(static_cast<std::size_t>(size));
    std::iota(callers_.begin(), callers_.end(), 0);
  }
}

std::optional<std::size_t> CollectiveTable::PlaceOf(std::int32_t rank) const {
  const auto found = std::ranges::lower_bound(callers_, rank);
  if (found == callers_.end() || *found != rank) return std::nullopt;
  return static_cast<std::size_t>(found - callers_.begin());
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

std::vector<std::int32_t> CollectiveTable::RanksAt(const Entry& entry, Stage stage) const {
  std::vector<std::int32_t> ranks;
  for (std::size_t place = 0; place < entry.stages.size(); ++place) {
    if (entry.stages[place] == stage) ranks.push_back(callers_[place]);
  }
  return ranks;
}

base::Error CollectiveTable::Mismatch(const Entry& entry, std::uint64_t sequence, std::int32_t rank,
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

base::Result<std::vector<CollectiveTable::Values>> CollectiveTable::Issue(
    std::uint64_t sequence, std::int32_t rank, const Operation& operation, Payload input,
    const NameRanks& name_of, const CallGroup& group) {
  const auto place = PlaceOf(rank);
  CHECK(place.has_value());
  if (done_.Contains(sequence)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(name_of({rank}), " calls collective ", sequence, ", which has ended"));
  }
  Entry& entry = entries_[sequence];
  if (entry.stages.empty()) {
    entry.operation = operation;
    entry.stages.assign(callers_.size(), Stage::kAbsent);
    entry.inputs.resize(callers_.size());
  }
  if (entry.stages[*place] != Stage::kAbsent) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat(name_of({rank}), " calls collective ", sequence, " twice"));
  }
  if (!Matches(entry.operation, operation)) {
    return std::unexpected(Mismatch(entry, sequence, rank, operation, name_of));
  }
  entry.stages[*place] = Stage::kIssued;
  entry.inputs[*place] = std::move(input);
  if (++entry.issued < callers_.size()) return std::vector<Values>();
  return Complete(sequence, &entry, group);
}

std::vector<Payload> CollectiveTable::TakeInputs(Entry* entry, std::size_t* guessed) const {
  std::vector<Payload> given = std::exchange(entry->inputs, {});
  if (callers_.size() == static_cast<std::size_t>(size_)) return given;
  std::vector<Payload> inputs(static_cast<std::size_t>(size_));
  for (std::size_t place = 0; place < callers_.size(); ++place) {
    inputs[static_cast<std::size_t>(callers_[place])] = std::move(given[place]);
  }
  *guessed += mirrored_ranks_->Mirror(entry->operation, &inputs);
  return inputs;
}

// A broadcast from a mirrored rank waits for the other broadcasts of its NCCL group: what the live
// roots of the group gave shows what the mirrored root would have given.
std::vector<CollectiveTable::Values> CollectiveTable::Complete(std::uint64_t sequence, Entry* entry,
                                                               const CallGroup& group) {
  const Operation& operation = entry->operation;
  const auto size = static_cast<std::size_t>(size_);
  std::vector<Values> all;
  const bool any = std::any_of(entry->inputs.begin(), entry->inputs.end(),
                               [](const Payload& payload) { return payload.has_value(); });
  const bool is_broadcast = operation.kind == Kind::kBroadcast;
  const bool has_mirrored_rank_root =
      is_broadcast && IsMirrored(static_cast<std::size_t>(operation.root));
  const bool waits_for_group = is_broadcast && group.size > 1 && mirrored_ranks_ != nullptr &&
                               CarriesValues(operation, size);
  if (waits_for_group) {
    OpenGroup& open = groups_[group.first];
    if (has_mirrored_rank_root) {
      open.of_mirrored_ranks.emplace_back(sequence, operation);
    } else {
      open.given[operation.root] = entry->inputs[*PlaceOf(operation.root)];
    }
  }
  if (!(waits_for_group && has_mirrored_rank_root) && (any || CarriesValues(operation, size))) {
    Values values{.sequence = sequence};
    const bool is_rooted = operation.kind == Kind::kReduce || operation.kind == Kind::kGather;
    if (any || is_rooted) {
      values.results = ResultsOf(operation, TakeInputs(entry, &values.guessed), callers_);
      if (values.guessed > 0) values.site = operation.site;
    } else {
      values.results.resize(callers_.size());
    }
    const bool has_root = is_broadcast || operation.kind == Kind::kScatter;
    if (has_root && IsMirrored(static_cast<std::size_t>(operation.root))) {
      // What the mirrored rank would give is not asked from whom it mirrors, which only receives.
      values.guessed = 1;
      values.site = operation.site;
    }
    all.push_back(std::move(values));
  }
  if (waits_for_group) {
    OpenGroup& open = groups_[group.first];
    if (++open.called == group.size) {
      for (const auto& [mirrored_ranks_sequence, broadcast] : open.of_mirrored_ranks) {
        std::size_t unruly = 0;
        const Payload given = mirrored_ranks_->GivenBy(broadcast, open.given, &unruly);
        all.push_back({.sequence = mirrored_ranks_sequence,
                       .results = std::vector(callers_.size(), given),
                       .guessed = unruly,
                       .site = unruly > 0 ? broadcast.site : std::string()});
      }
      groups_.erase(group.first);
    }
  }
  entry->inputs.clear();
  return all;
}

base::Result<std::optional<CollectiveTable::Ready>> CollectiveTable::Post(std::uint64_t sequence,
                                                                          std::int32_t rank,
                                                                          base::SimTime ready) {
  const auto found = entries_.find(sequence);
  const auto place = PlaceOf(rank);
  CHECK(place.has_value());
  if (found == entries_.end() || found->second.stages[*place] != Stage::kIssued) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("rank ", rank, " reaches collective ", sequence,
                       found == entries_.end() || found->second.stages[*place] == Stage::kAbsent
                           ? " without having called it"
                           : " twice"));
  }
  Entry& entry = found->second;
  entry.stages[*place] = Stage::kPosted;
  entry.ready = std::max(entry.ready, ready);
  if (++entry.posted < callers_.size()) return std::nullopt;
  Ready result{.sequence = sequence, .start = entry.ready, .operation = entry.operation};
  entries_.erase(found);
  done_.Insert(sequence);
  return result;
}

std::vector<CollectiveTable::Incomplete> CollectiveTable::Unfinished() const {
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

bool CollectiveTable::IsBefore(std::int32_t rank, Stage stage) const {
  const auto place = PlaceOf(rank);
  return place && std::ranges::any_of(entries_, [&](const auto& entry) {
           return entry.second.stages[*place] < stage;
         });
}

bool CollectiveTable::Misses(std::int32_t rank) const { return IsBefore(rank, Stage::kIssued); }

bool CollectiveTable::Needs(std::int32_t rank) const { return IsBefore(rank, Stage::kPosted); }

}  // namespace eidolon::network::communicator
