// A store that was never seen to happen may still happen with other content of memory. It cannot
// when every way to it begins at a branch that ran, that values do not decide, and that went
// elsewhere in all threads. So the search goes backwards from the store over blocks that did not
// run to those that did. Branches that values decide spoil the proof where a way that they did not
// take would lead to the store or to one of those branches. In doubt the answer is no.
#include "services/machine_code/interpret/bars.h"

#include <algorithm>
#include <optional>

namespace eidolon::interpret {
namespace {

bool Ran(const Flow& flow, const BlockTrace& trace, std::uint32_t block) {
  return std::ranges::binary_search(trace.ran, flow.blocks()[block].end - 1);
}

// The blocks that ran and lead to ones that did not, from which the target, which did not run, can
// be reached. Nothing when that is not to be told.
std::optional<std::vector<std::uint32_t>> LastBefore(const Flow& flow, const BlockTrace& trace,
                                                     std::uint32_t target) {
  const std::vector<FlowBlock>& blocks = flow.blocks();
  std::vector<bool> seen(blocks.size(), false);
  std::vector<std::uint32_t> open = {target};
  std::vector<std::uint32_t> last;
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    if (block == 0) return std::nullopt;
    if (seen[block]) continue;
    seen[block] = true;
    for (std::uint32_t from = 0; from < blocks.size(); ++from) {
      if (blocks[from].callee == block) return std::nullopt;
      if (std::ranges::find(blocks[from].next, block) == blocks[from].next.end()) continue;
      if (!Ran(flow, trace, from)) {
        open.push_back(from);
      } else if (blocks[from].decides) {
        last.push_back(from);
      } else {
        return std::nullopt;
      }
    }
  }
  return last;
}

bool IsBarredIn(const Flow& flow, const std::vector<bool>& by_values, const BlockTrace& trace,
                std::uint32_t target) {
  const auto last = LastBefore(flow, trace, target);
  if (!last) return false;
  const auto decided = [&](std::uint32_t block) { return bool{by_values[block]}; };
  if (std::ranges::any_of(*last, decided)) return false;
  for (std::uint32_t i = 0; i < by_values.size(); ++i) {
    if (!by_values[i] || !Ran(flow, trace, i)) continue;
    // Other values would have it go another way.
    const auto way =
        std::ranges::lower_bound(trace.decisions, flow.blocks()[i].end - 1, {}, &Decision::step);
    if (way == trace.decisions.end() || way->step != flow.blocks()[i].end - 1) return false;
    const std::uint32_t taken = way->next == kNoStep ? flow.exit() : flow.BlockOf(way->next);
    const std::vector<bool> passed = flow.PassedBy(i, taken);
    const auto is_passed = [&](std::uint32_t block) { return bool{passed[block]}; };
    if (is_passed(target) || std::ranges::any_of(*last, is_passed)) return false;
  }
  return true;
}

}  // namespace

bool IsBarred(const Flow& flow, const std::vector<bool>& by_values,
              std::span<const BlockTrace> traces, std::uint32_t step) {
  const std::uint32_t target = flow.BlockOf(step);
  const auto ran = [&](const BlockTrace& trace) { return Ran(flow, trace, target); };
  if (std::ranges::any_of(traces, ran)) return false;
  return std::ranges::any_of(
      traces, [&](const BlockTrace& trace) { return IsBarredIn(flow, by_values, trace, target); });
}

}  // namespace eidolon::interpret
