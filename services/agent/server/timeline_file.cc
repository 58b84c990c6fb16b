// Each server writes a file of its own, and the controller concatenates them: tracks and sequence
// numbers carry the server's number, so they never collide. Both outputs walk the same ranks in the
// same order (ForEachShown), or a reader would find a rank in the timeline that the critical path
// does not know.
#include "services/agent/server/timeline_file.h"

#include <algorithm>
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
#include "services/contract/critical_path/trace_file.h"

namespace eidolon::agent::server {

using base::StrCat;

namespace {

bool IsInTrace(const Processes& processes, std::uint32_t number, const session::Session& session) {
  const std::optional<std::int32_t> rank = processes.ranks().RankOf(number);
  return session.timeline() != nullptr && rank.has_value() && processes.IsShown(*rank);
}

using Use = std::function<void(std::uint32_t process, std::int32_t rank, const session::Session&)>;

// Visits them in the order of their process numbers.
void ForEachShown(const Processes& processes, const Use& use) {
  for (const auto& [number, session] : processes.all()) {
    if (!IsInTrace(processes, number, *session)) continue;
    use(number, *processes.ranks().RankOf(number), *session);
  }
}

}  // namespace

std::optional<ShownTime> TimeShown(const Processes& processes) {
  std::optional<ShownTime> shown;
  for (const auto& [number, session] : processes.all()) {
    if (!IsInTrace(processes, number, *session)) continue;
    for (const timeline::Window& window : session->timeline()->windows()) {
      if (!shown.has_value()) shown = {window.start, window.finish};
      shown->start = std::min(shown->start, window.start);
      shown->finish = std::max(shown->finish, window.finish);
    }
  }
  return shown;
}

std::set<std::uint32_t> LinksShown(const Processes& processes) {
  std::set<std::uint32_t> links;
  ForEachShown(processes, [&](std::uint32_t, std::int32_t, const session::Session& session) {
    if (!session.timeline()->windows().empty()) links.merge(timeline::LinksOf(*session.timeline()));
  });
  return links;
}

base::Result<void> WriteTimeline(const JobParts& job, const Processes& processes,
                                 const cost::CostCache& costs,
                                 const std::vector<timeline::LinkLoad>& loads) {
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
  if (const auto shown = TimeShown(processes); shown.has_value()) {
    timeline::RenderLinkLoads(server, loads, shown->finish, &writer);
  }
  return writer.Finish();
}

base::Result<void> WriteTraces(const JobParts& job, const Processes& processes,
                               const cost::CostCache& costs, const LinkNames& link_names) {
  const std::string path = StrCat(job.assignment.run_directory(), "/critical_path");
  std::ofstream file(path, std::ios::trunc | std::ios::binary);
  ForEachShown(processes, [&](std::uint32_t, std::int32_t rank, const session::Session& session) {
    if (session.timeline()->windows().empty()) return;
    critical_path::Write(timeline::TraceOf(*session.timeline(), {.rank = rank,
                                                                 .devices = job.traits,
                                                                 .costs = &costs,
                                                                 .link_names = &link_names,
                                                                 .plain = outcome::PlainText}),
                         &file);
  });
  file.close();
  if (file) return {};
  return base::Fail(base::ErrorCode::kResourceExhausted,
                    StrCat("the traces for the critical path were not written to ", path));
}

}  // namespace eidolon::agent::server
