// The walk goes backward, because only the end is known to lie on the path; forward, every
// operation would be a candidate. Each step covers the time from an earlier moment until where the
// walk is, so the segments are without gaps and add up to the iteration. `visited_` guarantees an
// end for traces that contradict themselves. What the trace does not show gets a segment of unknown
// kind: a guess would blame something.
#include "services/contract/critical_path/walk.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "services/contract/critical_path/partners.h"

namespace eidolon::critical_path {

using base::SimTime;

namespace {

constexpr std::string_view kLaunchName = "launch";
constexpr std::string_view kGapName = "launch gap";
constexpr std::string_view kDelayName = "beside NCCL";
constexpr std::string_view kEndName = "until the iteration's end";
constexpr std::string_view kUnseenRanks = "waits for ranks that are not shown";
constexpr std::string_view kUnseenOperation = "waits for an operation that is not shown";
constexpr std::string_view kUnseenCall = "waits for a call that is not shown";
constexpr std::string_view kUnseenHost = "host, before the first call that is shown";
constexpr std::string_view kContradiction = "the trace contradicts itself";

Kind KindOf(OperationKind kind) {
  switch (kind) {
    case OperationKind::kKernel:
      return Kind::kKernel;
    case OperationKind::kCopy:
      return Kind::kCopy;
    case OperationKind::kCommunication:
      return Kind::kCommunication;
    case OperationKind::kHostFunction:
      return Kind::kHost;
  }
  return Kind::kUnknown;
}

// Places of operations, in the order of their ends and then in program order.
std::vector<std::uint32_t> ByEnd(const RankTrace& trace) {
  std::vector<std::uint32_t> places(trace.operations.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) places[i] = i;
  std::ranges::stable_sort(places, {},
                           [&](std::uint32_t place) { return trace.operations[place].finish; });
  return places;
}

// One walk. Each step reaches an earlier time, or an operation or a host event where it has not
// been, so it ends whatever the traces say.
class Walk {
 public:
  explicit Walk(std::span<const RankTrace> traces) : traces_(traces), partners_(traces) {
    for (const RankTrace& trace : traces) {
      by_end_.push_back(ByEnd(trace));
      visited_.emplace_back(trace.operations.size(), false);
      path_.start = std::max(path_.start, trace.start);
      path_.finish = std::max(path_.finish, trace.finish);
    }
    path_.finish = std::max(path_.start, path_.finish);
    time_ = path_.finish;
  }

  Path Run() {
    const auto last = std::ranges::max_element(traces_, {}, &RankTrace::finish);
    rank_ = static_cast<std::uint32_t>(last - traces_.begin());
    const auto end = LastEndedBy(time_);
    if (end.has_value() && OperationAt(*end).finish == time_) {
      operation_ = end;
    } else if (trace().left_out > 0) {
      GoOnBefore(end);
    } else {
      FollowHost(kEndName, trace().host_events.size());
    }
    while (!is_done() && operation_.has_value()) FollowOperation();
    return std::move(path_);
  }

 private:
  bool is_done() const { return time_ <= path_.start; }
  const RankTrace& trace() const { return traces_[rank_]; }
  const Operation& OperationAt(std::uint32_t place) const { return trace().operations[place]; }
  std::string_view NameAt(std::uint32_t name) const { return trace().names[name]; }

  // Adds the time from `begin` until where the walk is. Nothing when that takes no time.
  void Pass(SimTime begin, Kind kind, std::string_view name, std::span<const LinkTime> links = {}) {
    begin = std::max(begin, path_.start);
    if (begin >= time_) return;
    path_.segments.push_back({.begin = begin,
                              .end = time_,
                              .kind = kind,
                              .rank = trace().rank,
                              .name = name,
                              .links = links});
    time_ = begin;
  }
  // Nothing before is known.
  void GiveUp(std::string_view why) {
    Pass(path_.start, Kind::kUnknown, why);
    operation_.reset();
  }

  // Continues with the end of the last operation that is known, if there is one.
  void GoOnBefore(std::optional<std::uint32_t> known) {
    if (!known.has_value()) return GiveUp(kUnseenOperation);
    Pass(OperationAt(*known).finish, Kind::kUnknown, kUnseenOperation);
    operation_ = known;
  }

  std::optional<std::uint32_t> LastEndedBy(SimTime time) const {
    const std::vector<std::uint32_t>& places = by_end_[rank_];
    const auto behind = std::ranges::upper_bound(
        places, time, {}, [&](std::uint32_t place) { return OperationAt(place).finish; });
    if (behind == places.begin()) return std::nullopt;
    return *std::prev(behind);
  }

  void FollowOperation();
  void FollowCommunication();
  void FollowRelease();
  void FollowCall(const Operation& operation);
  void FollowHost(std::string_view next, std::size_t events);
  bool FollowWait(const HostEvent& event);

  std::span<const RankTrace> traces_;
  Partners partners_;
  std::vector<std::vector<std::uint32_t>> by_end_;  // By trace.
  std::vector<std::vector<bool>> visited_;
  std::vector<OperationPlace> members_;  // Scratch of FollowCommunication.
  Path path_;
  SimTime time_;                            // Where the walk is...
  std::uint32_t rank_ = 0;                  // ...in which trace...
  std::optional<std::uint32_t> operation_;  // ...and at the end of what; none: the host.
};

// The walk is at its end, or somewhere within it.
void Walk::FollowOperation() {
  if (visited_[rank_][*operation_]) return GiveUp(kContradiction);
  visited_[rank_][*operation_] = true;
  const Operation& operation = OperationAt(*operation_);
  if (operation.kind == OperationKind::kCommunication) {
    FollowCommunication();
  } else {
    Pass(operation.start, KindOf(operation.kind), NameAt(operation.name));
  }
  if (!is_done()) FollowRelease();
}

void Walk::FollowCommunication() {
  const OperationPlace own{.trace = rank_, .operation = *operation_};
  const Operation& operation = OperationAt(*operation_);
  const std::string_view name = NameAt(operation.name);
  OperationPlace last = own;
  SimTime ready = operation.ready;
  partners_.List(own, &members_);
  for (const OperationPlace& place : members_) {
    const Operation& member = traces_[place.trace].operations[place.operation];
    if (member.ready <= ready || member.ready > time_) continue;
    ready = member.ready;
    last = place;
  }
  const Communication* communication = partners_.Find(own);
  std::span<const LinkTime> links;
  if (communication != nullptr) {
    links = std::span(trace().links).subspan(communication->first_link, communication->links);
  }
  // A collective starts when the last member is ready. A group's transfers start one by one.
  if (communication == nullptr || communication->transfers == 0) {
    Pass(std::max(operation.start, ready), Kind::kCommunication, name, links);
    Pass(ready, Kind::kUnknown, kUnseenRanks);
  } else {
    Pass(ready, Kind::kCommunication, name, links);
  }
  if (last == own) return;
  rank_ = last.trace;
  operation_ = last.operation;
  visited_[rank_][*operation_] = true;
}

// The walk is where the operation was ready.
void Walk::FollowRelease() {
  const Operation& operation = OperationAt(*operation_);
  const SimTime gap_begin = time_ - trace().launch_gaps[operation.device];
  if (operation.released_by == kHostCall) return FollowCall(operation);
  if (operation.released_by == kLeftOut) {
    const auto before = LastEndedBy(time_);
    return GoOnBefore(before.has_value() && visited_[rank_][*before] ? std::nullopt : before);
  }
  if (operation.released_by == kEarlier) {
    Pass(gap_begin, Kind::kLaunch, kGapName);
    Pass(path_.start, Kind::kDelay, kDelayName);
    operation_.reset();
    return;
  }
  const std::uint32_t before = operation.released_by - 1;
  const SimTime end = OperationAt(before).finish;
  if (end > time_) return GiveUp(kContradiction);
  Pass(std::max(end, gap_begin), Kind::kLaunch, kGapName);
  Pass(end, Kind::kDelay, kDelayName);
  operation_ = before;
}

void Walk::FollowCall(const Operation& operation) {
  if (operation.call == 0) return GiveUp(kUnseenCall);
  const HostEvent& call = trace().host_events[operation.call - 1];
  if (call.end > time_) return GiveUp(kContradiction);
  Pass(call.end, Kind::kLaunch, kLaunchName);
  FollowHost(NameAt(call.name), operation.call);
}

// The host's work until where the walk is, which `next` followed; of its events the first `events`
// came before. Ends at an operation that the host waited for, or at the start.
void Walk::FollowHost(std::string_view next, std::size_t events) {
  operation_.reset();
  while (!is_done() && events > 0) {
    const HostEvent& event = trace().host_events[--events];
    // The event is of another thread, which was at work beside this one.
    if (event.end > time_) continue;
    Pass(event.end, Kind::kHost, next);
    next = NameAt(event.name);
    if (event.kind == HostEventKind::kCall) {
      Pass(event.begin, Kind::kHost, next);
    } else if (FollowWait(event)) {
      return;
    }
  }
  if (!is_done()) GiveUp(kUnseenHost);
}

// True when it was for an operation, where the walk goes on.
bool Walk::FollowWait(const HostEvent& event) {
  if (event.kind == HostEventKind::kSleep) {
    Pass(event.begin, Kind::kSleep, NameAt(event.name));
    return false;
  }
  const auto last = LastEndedBy(time_);
  if (!last.has_value() || OperationAt(*last).finish <= event.begin) {
    Pass(event.begin, Kind::kUnknown, NameAt(event.name));
    return false;
  }
  Pass(OperationAt(*last).finish, Kind::kUnknown, NameAt(event.name));
  operation_ = last;
  return true;
}

}  // namespace

Path FindPath(std::span<const RankTrace> traces) {
  if (traces.empty()) return {};
  return Walk(traces).Run();
}

}  // namespace eidolon::critical_path
