#include "services/agent/recording/host_work.h"

#include <algorithm>
#include <vector>

#include "services/contract/recording/entry.h"

namespace eidolon::agent::recording {

namespace kept = ::eidolon::recording;

base::Result<std::uint64_t> HostWorkOf(kept::EntryReader entries, std::uint64_t skipped) {
  std::uint64_t worked = 0;
  std::uint64_t last = 0;
  std::vector<std::uint64_t> given;  // Answers that no record depends on yet, as in Playback.
  for (std::uint64_t at = 0;; ++at) {
    const auto read = entries.Next();
    if (!read) return std::unexpected(read.error());
    if (!read->has_value()) return worked;
    const kept::EntryView& entry = **read;
    const std::uint64_t clock = entry.header().host_clock_ps;
    if (!entry.IsRecord() && entry.kind() == kept::EntryKind::kAnswer) given.push_back(clock);
    if (!entry.IsRecord() && entry.kind() != kept::EntryKind::kEnd) continue;
    std::uint64_t base = last;
    for (const std::uint64_t answer : given) {
      if (answer <= clock) base = std::max(base, answer);
    }
    std::erase_if(given, [clock](std::uint64_t answer) { return answer <= clock; });
    if (clock > base && at >= skipped) worked += clock - base;
    last = std::max(base, clock);
  }
}

}  // namespace eidolon::agent::recording
