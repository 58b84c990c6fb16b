#include "services/agent/server/timeline_file.h"

#include <cstdint>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "services/agent/outcome/plain_text.h"
#include "services/agent/timeline/rank_trace.h"
#include "services/agent/timeline/render.h"
#include "services/agent/timeline/trace_writer.h"
#include "services/base/text.h"
#include "services/critical_path/trace_file.h"

namespace eidolon::agent::server {

using base::StrCat;

namespace {

using Use = std::function<void(std::uint32_t process, std::int32_t rank, const session::Session&)>;

// In the order of their process numbers.
void ForEachShown(const Processes& processes, const Use& use) {
  for (const auto& [number, session] : processes.all()) {
    const std::optional<std::int32_t> rank = processes.ranks().RankOf(number);
    if (session->timeline() == nullptr || !rank.has_value() || !processes.IsShown(*rank)) continue;
    use(number, *rank, *session);
  }
}

}  // namespace

base::Result<void> WriteTimeline(const JobParts& job, const Processes& processes,
                                 const cost::CostBook& costs) {
  const std::uint32_t server = job.assignment.server();
  timeline::TraceWriter writer(StrCat(job.assignment.run_directory(), "/timeline.pftrace"),
                               server + 1);
  writer.AddProcess({.uuid = timeline::ServerTrack(server),
                     .pid = static_cast<std::int32_t>(server) + 1,
                     .name = StrCat("server ", server, " (", job.assignment.cluster().gpu(), ")")});
  ForEachShown(processes,
               [&](std::uint32_t process, std::int32_t rank, const session::Session& session) {
                 timeline::Render(*session.timeline(),
                                  {.server = server,
                                   .process = process,
                                   .rank = rank,
                                   .costs = &costs,
                                   .plain = outcome::PlainText},
                                  &writer);
               });
  return writer.Finish();
}

base::Result<void> WriteTraces(const JobParts& job, const Processes& processes,
                               const cost::CostBook& costs) {
  const std::string path = StrCat(job.assignment.run_directory(), "/critical_path");
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  ForEachShown(processes, [&](std::uint32_t, std::int32_t rank, const session::Session& session) {
    if (session.timeline()->windows().empty()) return;
    critical_path::Write(
        timeline::TraceOf(
            *session.timeline(),
            {.rank = rank, .devices = job.traits, .costs = &costs, .plain = outcome::PlainText}),
        &file);
  });
  file.close();
  if (file) return {};
  return base::Fail(base::ErrorCode::kResourceExhausted,
                    StrCat("the traces for the critical path were not written to ", path));
}

}  // namespace eidolon::agent::server
