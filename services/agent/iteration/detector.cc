// Only the order of launches counts, never a time, so no duration of the model can move a boundary.
// Gaps are kept until the period is certain, and then all their boundaries come out at once, so an
// iteration may be known long after it ended. The longest gap is fixed from then on: one long
// evaluation would otherwise make every later step a short gap.
#include "services/agent/iteration/detector.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace eidolon::agent::iteration {

namespace {

// Long gaps searched for optimizers that take turns, and how long the search may delay the answer.
constexpr std::size_t kPeriodLimit = 8;
constexpr std::size_t kGapsForPeriod = 20;

// Long gaps needed before multi-tensor kernels alone count as optimizers.
constexpr std::size_t kGapsOfPerhaps = 4;

}  // namespace

Update UpdateOf(std::string_view mangled_name) {
  const auto says = [&](std::string_view word) {
    return mangled_name.find(word) != std::string_view::npos;
  };
  static constexpr std::array<std::string_view, 14> kOptimizers{
      "Adam",    "adam",    "SGD",      "sgd",     "Sgd",     "Lamb",      "lamb",
      "Adagrad", "adagrad", "Adadelta", "RMSprop", "rmsprop", "Adafactor", "Muon"};
  if (std::any_of(kOptimizers.begin(), kOptimizers.end(), says)) return Update::kYes;
  // Inductor names its combined element-wise loops over many tensors triton_for.
  if (says("triton_for_")) return Update::kPerhaps;
  return says("multi_tensor_apply") && !says("Copy") ? Update::kPerhaps : Update::kNo;
}

// A real optimizer makes multi-tensor kernels ordinary again, unless they were relied upon already.
bool Detector::IsUpdate(const Launch& launch) {
  if (launch.update == Update::kNo) return false;
  if (seen_update_ == Update::kYes && launch.update == Update::kPerhaps) return false;
  const bool first = seen_update_ == Update::kNo;
  const bool better = launch.update == Update::kYes && seen_update_ == Update::kPerhaps;
  if (first || (better && !confirmed_)) {
    seen_update_ = launch.update;
    before_first_update_ = fresh_launches_;
    in_gap_ = false;
    longest_ = 0;
    gaps_.clear();
    history_ = {};
  }
  return true;
}

void Detector::Feed(const Launch& fed) {
  Launch launch = fed;
  if (std::exchange(waited_, false)) launch.meets_host = true;
  last_launch_ = launch.mark;
  if (IsUpdate(launch)) {
    if (in_gap_) CloseGap();
    open_ = {.update = launch.identity, .alike = launch.alike};
    update_since_boundary_ = true;
    behind_update_ = launch.mark;
    ++behind_update_.sequence;
  } else if (seen_update_ == Update::kNo) {
    if (repetition_ != 0) {
      FollowRepetition(launch);
    } else {
      RememberForRepetition(launch);
    }
  } else {
    if (!in_gap_) {
      in_gap_ = true;
      gap_emitted_ = false;
      open_.mark = launch.mark;
    }
    ++open_.launches;
    if (confirmed_ && !gap_emitted_ && IsLong(open_.launches)) {
      EmitGap(open_);
      gap_emitted_ = true;
    }
  }
  CountFresh(launch.identity);
}

// Compilers time candidates by launching the same few kernels a hundred times in a row. That does
// not make a step long, so a launch that was among the last few counts once.
void Detector::CountFresh(std::uint32_t identity) {
  if (std::find(latest_.begin(), latest_.end(), identity) == latest_.end()) ++fresh_launches_;
  latest_[next_latest_] = identity;
  next_latest_ = (next_latest_ + 1) % latest_.size();
}

bool Detector::IsLong(std::uint64_t launches) const { return 2 * launches >= longest_; }

void Detector::CloseGap() {
  in_gap_ = false;
  if (confirmed_) return;
  if (open_.launches > longest_) {
    longest_ = open_.launches;
    std::erase_if(gaps_, [&](const Gap& gap) { return !IsLong(gap.launches); });
  }
  if (IsLong(open_.launches)) gaps_.push_back(open_);
  Confirm(/*at_end=*/false);
}

void Detector::Confirm(bool at_end) {
  if (gaps_.empty() || longest_ * 20 < before_first_update_) return;
  const std::size_t needed = seen_update_ == Update::kYes ? 2 : kGapsOfPerhaps;
  if (gaps_.size() < needed && !at_end) return;
  const Cycle cycle = FindCycle(at_end);
  if (cycle.period == 0) return;
  period_ = static_cast<std::uint32_t>(cycle.period);
  // What comes before the repetition ends where it begins.
  emitted_gaps_ = (period_ - cycle.begin % period_) % period_;
  confirmed_ = true;
  for (const Gap& gap : gaps_) EmitGap(gap);
  gaps_ = {};
}

// The shortest period of the updates before the gaps.
Detector::Cycle Detector::FindCycle(std::span<const Gap> gaps, std::uint32_t Gap::*key) {
  for (std::size_t period = 1; period <= kPeriodLimit && 2 * period <= gaps.size(); ++period) {
    std::size_t begin = gaps.size() - period;
    while (begin > 0 && gaps[begin - 1].*key == gaps[begin - 1 + period].*key) --begin;
    // A sequence as long as two of its periods together has their greatest common divisor for a
    // period, too (Fine and Wilf): where so many repeat this one, each other one up to the limit is
    // a multiple of it.
    const std::size_t run = gaps.size() - begin;
    if (begin == 0 || run >= period + kPeriodLimit) return {.period = period, .begin = begin};
  }
  return {};
}

// None while the gaps are too few to tell.
Detector::Cycle Detector::FindCycle(bool at_end) const {
  if (const Cycle same = FindCycle(gaps_, &Gap::update); same.period != 0) return same;
  const bool last_chance = at_end || gaps_.size() >= kGapsForPeriod;
  bool never_repeats = gaps_.size() > kPeriodLimit;
  if (never_repeats) {
    std::set<std::uint32_t> last;
    for (const Gap& gap : std::span(gaps_).last(kPeriodLimit + 1)) last.insert(gap.update);
    never_repeats = last.size() > kPeriodLimit;
  }
  if (!never_repeats && !last_chance) return {};
  const Cycle alike = FindCycle(gaps_, &Gap::alike);
  return alike.period == 0 && last_chance ? Cycle{.period = 1} : alike;
}

void Detector::EmitGap(const Gap& gap) {
  if (++emitted_gaps_ % period_ != 0) return;
  boundaries_.push_back(gap.mark);
  update_since_boundary_ = false;
}

void Detector::Finish(const Mark& mark, ProgramEnd how) {
  if (seen_update_ == Update::kNo) {
    if (how == ProgramEnd::kFailed) return;
    // Leaving is not part of the last step.
    Mark end = last_launch_;
    end.sequence = mark.sequence;
    if (!SearchAtEnd(end)) SearchDevicesAtEnd(end);
    return;
  }
  if (!confirmed_) {
    Confirm(/*at_end=*/true);
    // The updates behind the last long gap belong to an iteration of their own.
    update_since_boundary_ = true;
  }
  if (!update_since_boundary_) return;
  if (!in_gap_) {
    boundaries_.push_back(behind_update_);
  } else {
    boundaries_.push_back(gap_emitted_ ? mark : open_.mark);
  }
}

std::vector<Mark> Detector::TakeBoundaries() {
  std::vector<Mark> taken;
  taken.swap(boundaries_);
  return taken;
}

}  // namespace eidolon::agent::iteration
