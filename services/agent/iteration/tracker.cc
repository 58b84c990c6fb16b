#include "services/agent/iteration/tracker.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "services/base/check.h"

namespace eidolon::agent::iteration {
namespace {

// Windows kept for a period that is found late.
constexpr std::size_t kMostWindows = 8192;

}  // namespace

void Tracker::Issued(std::uint64_t sequence, std::uint64_t symbol) {
  CHECK(sequence == issued_);
  ++issued_;
  if (rule_ == Rule::kRepetition) repetition_.AddLaunch(symbol);
}

void Tracker::Resolved(std::uint64_t sequence, const Span& span) {
  spans_.push_back(span);
  Dropped(sequence);
}

void Tracker::Dropped(std::uint64_t sequence) {
  if (sequence == resolved_below_ && resolved_.empty()) {
    ++resolved_below_;
  } else {
    resolved_.push_back(sequence);
    std::push_heap(resolved_.begin(), resolved_.end(), std::greater<>());
    while (!resolved_.empty() && resolved_.front() == resolved_below_) {
      std::pop_heap(resolved_.begin(), resolved_.end(), std::greater<>());
      resolved_.pop_back();
      ++resolved_below_;
    }
  }
  SplitReadyWindows();
}

void Tracker::AddWindow(base::SimTime clock) {
  windows_.push_back(
      {.begin = last_cut_, .end = std::max(clock, last_cut_), .sequence_end = issued_});
  last_cut_ = windows_.back().end;
  if (windows_.size() > kMostWindows && windows_.front().split_done) {
    windows_.pop_front();
    ++first_window_;
  }
}

void Tracker::Cut(base::SimTime clock) {
  if (rule_ != Rule::kRepetition) return;
  AddWindow(clock);
  if (const auto match = repetition_.AddCut()) Want(*match);
  SplitReadyWindows();
}

void Tracker::Boundary(base::SimTime clock) {
  if (rule_ != Rule::kNamed) return;
  AddWindow(clock);
  const std::size_t cut = first_window_ + windows_.size() - 1;
  if (any_named_) wanted_.push_back({last_named_, cut, false});
  any_named_ = true;
  last_named_ = cut;
  SplitReadyWindows();
}

void Tracker::Finish() {
  if (rule_ != Rule::kRepetition) return;
  if (const auto match = repetition_.Finish()) Want(*match);
  SplitReadyWindows();
}

void Tracker::Want(const Repetition::Match& match) {
  for (std::size_t i = 1; i < match.boundaries.size(); ++i) {
    wanted_.push_back({match.boundaries[i - 1], match.boundaries[i], match.restarts && i == 1});
  }
}

void Tracker::SplitReadyWindows() {
  while (next_split_ < first_window_ + windows_.size()) {
    Window& window = windows_[next_split_ - first_window_];
    if (resolved_below_ < window.sequence_end) break;
    window.split = SplitWindow(window.begin, window.end, spans_);
    window.split_done = true;
    std::erase_if(spans_, [&](const Span& span) { return span.end <= window.end; });
    ++next_split_;
  }
  EmitReady();
}

void Tracker::EmitReady() {
  while (!wanted_.empty() && wanted_.front().last < next_split_) {
    const Wanted wanted = wanted_.front();
    wanted_.pop_front();
    if (wanted.restarts) {
      next_index_ = 0;
      news_ = {.iterations = {}, .restarted = true};
    }
    if (wanted.first + 1 < first_window_) continue;  // Too long ago to be split.
    Iteration iteration{.index = next_index_++};
    for (std::size_t cut = wanted.first + 1; cut <= wanted.last; ++cut) {
      const Window& window = windows_[cut - first_window_];
      if (cut == wanted.first + 1) iteration.begin = window.begin;
      iteration.end = window.end;
      iteration.split += window.split;
    }
    news_.iterations.push_back(std::move(iteration));
  }
}

Tracker::News Tracker::TakeNews() { return std::exchange(news_, {}); }

}  // namespace eidolon::agent::iteration
