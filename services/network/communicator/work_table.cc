#include "services/network/communicator/work_table.h"

#include <utility>

#include "services/base/text.h"

namespace eidolon::network::communicator {

using base::StrCat;

namespace {

// Live ranks of a class call within an iteration or two of each other.
constexpr std::size_t kStepsMax = 1 << 16;

std::string Launches(std::uint64_t count) {
  return StrCat(count, count == 1 ? " kernel or copy" : " kernels and copies");
}

}  // namespace

WorkTable::WorkTable(const folding::Fold& fold) : fold_(fold) {
  if (!fold_.is_folded()) return;
  for (const std::uint32_t rank : fold_.live()) {
    const auto [at, is_first] = classes_.try_emplace(fold_.ClassOf(rank));
    if (is_first) at->second.reference = rank;
    ++at->second.live;
  }
  std::erase_if(classes_, [](const auto& one) { return one.second.live < 2; });
}

std::vector<WorkTable::Difference> WorkTable::Add(std::uint32_t rank, const LaunchedWork& work,
                                                  const Operation& operation) {
  std::vector<Difference> differences;
  const auto found = fold_.is_folded() ? classes_.find(fold_.ClassOf(rank)) : classes_.end();
  if (found == classes_.end()) return differences;
  Class& one = found->second;
  const std::uint64_t number = one.next[rank]++;
  if (!one.steps.empty() && number < one.steps.begin()->first) return differences;
  Step& step = one.steps[number];
  Call call{.work = work, .operation = operation};
  const auto add = [&](const Call& reference, std::uint32_t other, const Call& its) {
    if (auto difference = Compare(one, reference, other, its)) {
      differences.push_back(std::move(*difference));
    }
  };
  if (rank == one.reference) {
    step.reference = std::move(call);
    for (const auto& [other, its] : step.others) add(*step.reference, other, its);
    step.others.clear();
  } else if (step.reference) {
    add(*step.reference, rank, call);
  } else {
    step.others[rank] = std::move(call);
  }
  if (++step.called == one.live) one.steps.erase(number);
  if (one.steps.size() > kStepsMax) one.steps.erase(one.steps.begin());
  return differences;
}

std::optional<WorkTable::Difference> WorkTable::Compare(Class& one, const Call& reference,
                                                        std::uint32_t rank, const Call& call) {
  bool& astray = one.astray[rank];
  astray = astray || reference.operation.kind != call.operation.kind;
  if (astray || reference.work == call.work) return std::nullopt;
  const bool as_many = reference.work.launches == call.work.launches;
  std::string where =
      as_many ? StrCat("ranks ", one.reference, " and ", rank, " launch ",
                       Launches(call.work.launches), " of other names, grids or durations before ")
              : StrCat("rank ", one.reference, " launches ", Launches(reference.work.launches),
                       ", rank ", rank, " ", Launches(call.work.launches), " before ");
  where += Describe(reference.operation);
  if (reference.operation.site != call.operation.site && !call.operation.site.empty()) {
    where += StrCat(" (rank ", rank, ": at ", call.operation.site, ")");
  }
  return Difference{.reference = one.reference, .where = std::move(where)};
}

}  // namespace eidolon::network::communicator
