// Flows may wait for each other, and a file has millions of them. The dependencies are inverted
// once into one array with an offset for each flow, so an end costs only its own successors. Flows
// that end at one instant are handled in the order of their numbers: the engine's slots are used
// again and must not decide anything. Time is the processor time of this thread, because benchmarks
// share the machine with other work.
#include "services/network/replay/replay.h"

#include <algorithm>
#include <tuple>

namespace eidolon::network::replay {
namespace {

using base::SimTime;
using flow::FlowEngine;
using flow::Hop;

class Run {
 public:
  Run(const FlowFile& file, const ReplayOptions& options)
      : file_(file), options_(options), engine_(file.capacities) {
    const std::size_t flows = file.flows.size();
    result_.finish.assign(flows, SimTime::Max());
    waiting_.resize(flows);
    first_successor_.assign(flows + 1, 0);
    for (const FlowFile::Flow& flow : file.flows) {
      for (std::uint32_t before : file.DependenciesOf(flow)) ++first_successor_[before + 1];
    }
    for (std::size_t at = 0; at < flows; ++at) first_successor_[at + 1] += first_successor_[at];
    successors_.resize(first_successor_.back());
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (std::uint32_t at = 0; at < flows; ++at) {
      waiting_[at] = file.flows[at].dependencies;
      for (std::uint32_t before : file.DependenciesOf(file.flows[at])) {
        successors_[next[before]++] = at;
      }
      if (waiting_[at] == 0) starts_.emplace_back(file.flows[at].start_ps, at);
    }
    std::sort(starts_.begin(), starts_.end());
  }

  ReplayResult Go() {
    const double begin = options_.processor_seconds();
    StartUpTo(SimTime{0});
    result_.events_first = result_.events;
    const double added = options_.processor_seconds();
    engine_.NextFinish();
    result_.first_solve_seconds = options_.processor_seconds() - added;
    if (options_.first_only) {
      result_.truncated = true;
    } else {
      Loop(begin);
    }
    result_.seconds = options_.processor_seconds() - begin;
    result_.bytes_used = engine_.BytesUsed();
    result_.counters = engine_.counters();
    return std::move(result_);
  }

 private:
  void Loop(double begin) {
    for (std::uint64_t round = 0;; ++round) {
      const auto finish = engine_.NextFinish();
      const bool starts = next_start_ < starts_.size();
      if (!finish && !starts) return;
      SimTime time = finish.value_or(SimTime::Max());
      if (starts) time = std::min(time, SimTime{starts_[next_start_].first});
      finished_.clear();
      engine_.AdvanceTo(time, finished_);
      Finish(time);
      StartUpTo(time);
      if (round % 64 == 0 && options_.processor_seconds() - begin > options_.limit_seconds) {
        result_.truncated = true;
        return;
      }
    }
  }

  void Finish(SimTime time) {
    if (finished_.empty()) return;
    ++result_.instants;
    result_.completed += finished_.size();
    result_.events += finished_.size();
    ended_.clear();
    for (FlowEngine::Slot slot : finished_) ended_.push_back(flow_of_[slot]);
    std::sort(ended_.begin(), ended_.end());
    for (std::uint32_t flow : ended_) {
      result_.finish[flow] = time;
      for (std::uint32_t at = first_successor_[flow]; at < first_successor_[flow + 1]; ++at) {
        const std::uint32_t after = successors_[at];
        if (--waiting_[after] > 0) continue;
        if (file_.flows[after].start_ps > time.ps) {
          Insert(after);
        } else {
          Start(after);
        }
      }
    }
  }

  void Insert(std::uint32_t flow) {
    const std::pair<std::int64_t, std::uint32_t> start{file_.flows[flow].start_ps, flow};
    starts_.insert(std::upper_bound(starts_.begin() + static_cast<std::ptrdiff_t>(next_start_),
                                    starts_.end(), start),
                   start);
  }

  void StartUpTo(SimTime time) {
    while (next_start_ < starts_.size() && starts_[next_start_].first <= time.ps) {
      Start(starts_[next_start_++].second);
    }
  }

  void Start(std::uint32_t number) {
    const FlowFile::Flow& flow = file_.flows[number];
    hops_.clear();
    for (std::uint32_t link : file_.LinksOf(flow.route)) hops_.push_back({.link = link});
    const FlowEngine::Slot slot = engine_.Start({.work = flow::WorkOf(flow.bytes), .hops = hops_});
    if (slot >= flow_of_.size()) flow_of_.resize(slot + 1);
    flow_of_[slot] = number;
    ++result_.events;
  }

  const FlowFile& file_;
  const ReplayOptions& options_;
  FlowEngine engine_;
  ReplayResult result_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> starts_;
  std::size_t next_start_ = 0;
  std::vector<std::uint32_t> waiting_;
  std::vector<std::uint32_t> first_successor_;
  std::vector<std::uint32_t> successors_;
  std::vector<std::uint32_t> flow_of_;
  std::vector<FlowEngine::Slot> finished_;
  std::vector<std::uint32_t> ended_;
  std::vector<Hop> hops_;
};

}  // namespace

ReplayResult Replay(const FlowFile& file, const ReplayOptions& options) {
  return Run(file, options).Go();
}

}  // namespace eidolon::network::replay
