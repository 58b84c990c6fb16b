#include "services/agent/timeline/link_loads.h"

#include <algorithm>

#include "services/agent/timeline/render.h"
#include "services/base/text.h"

namespace eidolon::agent::timeline {
namespace {

// Links are sorted behind the ranks.
constexpr std::int32_t kLinks = 1'000'000;

}  // namespace

void RenderLinkLoads(std::uint32_t server, const std::vector<LinkLoad>& loads, base::SimTime end,
                     TraceWriter* writer) {
  std::int32_t number = 0;
  for (const LinkLoad& load : loads) {
    ++number;
    const bool is_used =
        std::ranges::any_of(load.changes, [](const auto& change) { return change.second > 0; });
    if (!is_used) continue;
    const std::uint64_t track = ServerTrack(server) + static_cast<std::uint64_t>(number);
    writer->AddCounter(
        {.uuid = track,
         .parent = ServerTrack(server),
         .name = base::StrCat(load.name, ": bytes per second"),
         .order = kLinks + number,
         .description = "of all traffic on the link, as the network's simulation shares it"},
        CounterUnit::kBytes);
    for (const auto& [at, rate] : load.changes) {
      writer->Count(track, at, static_cast<std::int64_t>(rate));
    }
    writer->Count(track, end, static_cast<std::int64_t>(load.changes.back().second));
  }
}

}  // namespace eidolon::agent::timeline
