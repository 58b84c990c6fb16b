#include "services/agent/iteration/timeline.h"

#include <algorithm>
#include <cmath>

namespace eidolon::agent::iteration {
namespace {

using base::Duration;
using base::SimTime;

// Start or end of an operation inside the window.
struct Edge {
  SimTime at;
  bool starts;
  bool communication;
  bool host_bound;
};

std::vector<Edge> EdgesOf(SimTime begin, SimTime end, const std::vector<Span>& spans) {
  std::vector<Edge> edges;
  edges.reserve(spans.size() * 2);
  for (const Span& span : spans) {
    const SimTime from = std::max(span.begin, begin);
    const SimTime to = std::min(span.end, end);
    if (from >= to) continue;
    edges.push_back({from, true, span.facts.communication, span.host_bound});
    edges.push_back({to, false, span.facts.communication, span.host_bound});
  }
  // Ends before starts of the same instant; among starts, one that did not wait for the host
  // decides the kind of the gap before it.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.starts != b.starts) return !a.starts;
    return !a.host_bound && b.host_bound;
  });
  return edges;
}

void AddBusy(SimTime begin, SimTime end, const Span& span, Split* split) {
  const Duration length = std::min(span.end, end) - std::max(span.begin, begin);
  if (length <= Duration{}) return;
  split->busy[static_cast<int>(span.facts.source)] += length;
  if (span.facts.source == Source::kAssumed) split->assumed[span.facts.name] += length;
  split->error_seconds[span.facts.family] +=
      length.Seconds() * static_cast<double>(span.facts.relative_error);
}

}  // namespace

Split& Split::operator+=(const Split& other) {
  compute += other.compute;
  exposed_communication += other.exposed_communication;
  idle += other.idle;
  host += other.host;
  for (int i = 0; i < kSources; ++i) busy[i] += other.busy[i];
  for (const auto& [name, duration] : other.assumed) assumed[name] += duration;
  for (const auto& [family, seconds] : other.error_seconds) error_seconds[family] += seconds;
  return *this;
}

Duration Split::Error() const {
  double squares = 0;
  for (const auto& [family, seconds] : error_seconds) squares += seconds * seconds;
  Duration total_busy;
  for (const Duration duration : busy) total_busy += duration;
  if (total_busy.ps <= 0) return {};
  const Duration exposed = compute + exposed_communication;
  const double share = std::min(1.0, exposed.Seconds() / total_busy.Seconds());
  return Duration::FromSeconds(std::sqrt(squares) * share);
}

Split SplitWindow(SimTime begin, SimTime end, const std::vector<Span>& spans) {
  Split split;
  for (const Span& span : spans) AddBusy(begin, end, span, &split);
  int computing = 0, communicating = 0;
  SimTime now = begin;
  for (const Edge& edge : EdgesOf(begin, end, spans)) {
    const Duration passed = edge.at - now;
    if (computing > 0) {
      split.compute += passed;
    } else if (communicating > 0) {
      split.exposed_communication += passed;
    } else if (edge.host_bound) {
      split.host += passed;
    } else {
      split.idle += passed;
    }
    now = edge.at;
    (edge.communication ? communicating : computing) += edge.starts ? 1 : -1;
  }
  if (end > now) split.host += end - now;
  return split;
}

}  // namespace eidolon::agent::iteration
