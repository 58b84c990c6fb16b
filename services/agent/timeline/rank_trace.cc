// The trace holds one window, and its numbers are positions within it. Host events come first, so
// that an operation can name its call. Operations follow in program order, and what released an
// operation comes before it, so a single pass is enough. A position is stored plus one; zero means
// none, and what lies before the window or was left out has marks of its own. The search
// distinguishes these from a call of the host.
#include "services/agent/timeline/rank_trace.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/agent/timeline/names.h"

namespace eidolon::agent::timeline {

namespace path = critical_path;

namespace {

// Fills one trace.
class Tracer {
 public:
  Tracer(const Recorder& recorder, const Traced& traced)
      : recorder_(recorder),
        window_(recorder.windows().front()),
        names_(traced.costs, traced.plain),
        link_names_(traced.link_names),
        first_(std::max(window_.first, recorder.kept_begin())),
        end_(std::max(first_, std::min(window_.end, recorder.kept_end()))),
        places_(end_ - first_, 0),
        calls_(end_ - first_, 0) {
    trace_.rank = traced.rank;
    trace_.iteration = window_.index;
    trace_.start = window_.start;
    trace_.finish = window_.finish;
    for (const device::Traits& device : traced.devices) {
      trace_.launch_gaps.push_back(device.launch_gap);
    }
  }

  path::RankTrace Trace() {
    for (const HostEvent& event : recorder_.host_events()) AddHostEvent(event);
    for (std::uint64_t sequence = first_; sequence < end_; ++sequence) {
      const Operation* operation = recorder_.Find(sequence);
      if (operation != nullptr) AddOperation(sequence, *operation);
    }
    trace_.left_out = window_.end - window_.first - trace_.operations.size();
    return std::move(trace_);
  }

 private:
  std::uint32_t Intern(std::string_view name) {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<std::uint32_t>(trace_.names.size());
    numbers_.emplace(name, number);
    trace_.names.emplace_back(name);
    return number;
  }

  void AddHostEvent(const HostEvent& event) {
    if (event.sequence >= window_.end && (event.operations > 0 || event.sequence > window_.end)) {
      return;
    }
    const bool is_call = event.operations > 0;
    trace_.host_events.push_back({.begin = event.begin,
                                  .end = event.end,
                                  .name = Intern(NameOf(event)),
                                  .kind = is_call ? path::HostEventKind::kCall
                                          : event.call == HostCall::kSleep
                                              ? path::HostEventKind::kSleep
                                              : path::HostEventKind::kWait});
    for (std::uint32_t i = 0; i < event.operations; ++i) {
      const std::uint64_t sequence = event.sequence + i;
      if (sequence < first_ || sequence >= end_) continue;
      calls_[sequence - first_] = static_cast<std::uint32_t>(trace_.host_events.size());
    }
  }

  // Returns what the host worked for.
  std::string_view NameOf(const HostEvent& event) {
    const Operation* first = event.operations > 0 ? recorder_.Find(event.sequence) : nullptr;
    if (first == nullptr) return Name(event.call);
    if (event.call == HostCall::kLaunch && first->kind == device::OpKind::kWork) {
      return names_.WorkOf(*first).call;
    }
    const Collective* collective = recorder_.FindCollective(event.sequence);
    if (event.call == HostCall::kCommunication && collective != nullptr) {
      return names_.NameOf(collective->name);
    }
    return Name(event.call);
  }

  void AddOperation(std::uint64_t sequence, const Operation& operation) {
    const Collective* collective = recorder_.FindCollective(sequence);
    path::Operation added{.ready = operation.ready,
                          .start = operation.start,
                          .finish = operation.finish,
                          .released_by = PlaceOf(operation.released_by),
                          .call = calls_[sequence - first_],
                          .device = operation.device};
    if (operation.kind == device::OpKind::kCallback) {
      added.kind = path::OperationKind::kHostFunction;
      added.name = Intern("host function");
    } else if (collective != nullptr) {
      added.kind = path::OperationKind::kCommunication;
      added.name = Intern(names_.NameOf(collective->name));
      AddCommunication(*collective);
    } else {
      const Names::Work& work = names_.WorkOf(operation);
      added.kind =
          work.category == "copy" ? path::OperationKind::kCopy : path::OperationKind::kKernel;
      added.name = Intern(work.name);
    }
    trace_.operations.push_back(added);
    places_[sequence - first_] = static_cast<std::uint32_t>(trace_.operations.size());
  }

  void AddCommunication(const Collective& collective) {
    trace_.communication.push_back(
        {.communicator = collective.communicator,
         .call = collective.call,
         .operation = static_cast<std::uint32_t>(trace_.operations.size()),
         .member = collective.rank,
         .first_transfer = static_cast<std::uint32_t>(trace_.transfers.size()),
         .transfers = static_cast<std::uint32_t>(collective.transfers.size()),
         .first_link = static_cast<std::uint32_t>(trace_.links.size()),
         .links = static_cast<std::uint32_t>(collective.links.size())});
    for (path::LinkTime link : collective.links) {
      link.link = NameOf(link);
      trace_.links.push_back(link);
    }
    for (const Collective::Transfer& transfer : collective.transfers) {
      trace_.transfers.push_back({.sequence = transfer.sequence,
                                  .peer = transfer.peer,
                                  .is_send = transfer.is_send ? 1u : 0u});
    }
  }

  // The number + 1 of a link's name.
  std::uint32_t NameOf(const path::LinkTime& link) {
    if (link.link == 0 || link_names_ == nullptr) return 0;
    const auto found = link_names_->find(link.link);
    return found == link_names_->end() ? 0 : Intern(found->second) + 1;
  }

  // `released_by`: an operation's sequence + 1; 0: none.
  std::uint32_t PlaceOf(std::uint64_t released_by) const {
    if (released_by == 0) return path::kHostCall;
    const std::uint64_t sequence = released_by - 1;
    if (sequence < window_.first) return path::kEarlier;
    if (sequence < first_) return path::kLeftOut;
    const std::uint32_t place = places_[sequence - first_];
    return place == 0 ? path::kLeftOut : place;
  }

  const Recorder& recorder_;
  const Window& window_;
  Names names_;
  const std::map<std::uint32_t, std::string>* link_names_;
  path::RankTrace trace_;
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  // Of names.
  std::uint64_t first_;                                        // Of what is there of the window...
  std::uint64_t end_;                                          // ...which ends before this.
  // Places by operation from first_ on: place + 1 of itself, and of its call; 0: none.
  std::vector<std::uint32_t> places_;
  std::vector<std::uint32_t> calls_;
};

}  // namespace

path::RankTrace TraceOf(const Recorder& recorder, const Traced& traced) {
  return Tracer(recorder, traced).Trace();
}

std::set<std::uint32_t> LinksOf(const Recorder& recorder) {
  const Window& window = recorder.windows().front();
  std::set<std::uint32_t> links;
  const std::uint64_t end = std::min(window.end, recorder.kept_end());
  for (std::uint64_t sequence = std::max(window.first, recorder.kept_begin()); sequence < end;
       ++sequence) {
    const Collective* collective = recorder.FindCollective(sequence);
    if (collective == nullptr) continue;
    for (const path::LinkTime& link : collective->links) {
      if (link.link != 0) links.insert(link.link);
    }
  }
  return links;
}

}  // namespace eidolon::agent::timeline
