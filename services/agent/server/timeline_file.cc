#include "services/agent/server/timeline_file.h"

#include <cstdint>
#include <optional>

#include "services/agent/outcome/plain_text.h"
#include "services/agent/timeline/render.h"
#include "services/agent/timeline/trace_writer.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

using base::StrCat;

base::Result<void> WriteTimeline(const JobParts& job, const Processes& processes,
                                 const cost::CostBook& costs) {
  const std::uint32_t server = job.assignment.server();
  timeline::TraceWriter writer(StrCat(job.assignment.run_directory(), "/timeline.pftrace"),
                               server + 1);
  writer.AddProcess({.uuid = timeline::ServerTrack(server),
                     .pid = static_cast<std::int32_t>(server) + 1,
                     .name = StrCat("server ", server, " (", job.assignment.cluster().gpu(), ")")});
  for (const auto& [number, session] : processes.all()) {
    const std::optional<std::int32_t> rank = processes.ranks().RankOf(number);
    if (session->timeline() == nullptr || !rank.has_value() || !processes.IsShown(*rank)) continue;
    timeline::Render(*session->timeline(),
                     {.server = server,
                      .process = number,
                      .rank = *rank,
                      .costs = &costs,
                      .plain = outcome::PlainText},
                     &writer);
  }
  return writer.Finish();
}

}  // namespace eidolon::agent::server
