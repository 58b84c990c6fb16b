// Any reports of two agents, to the run of a job: it is judged, and what it predicts can be
// written. The input is a sequence of (server, length, AgentReport).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "services/base/check.h"
#include "services/controller/agents/agent_report.h"
#include "services/controller/job/run.h"

namespace {

namespace controller = eidolon::controller;

void Take(controller::job::Run* run, std::uint32_t server,
          const controller::v1::AgentReport& report, std::int64_t now_ns) {
  if (report.has_iteration()) run->Add(controller::agents::FromProto(report.iteration()), now_ns);
  if (report.has_usage()) run->SetUsage(server, controller::agents::FromProto(report.usage()));
  if (report.has_log()) run->NoteLogLine(server, report.log().text());
  if (report.has_outcome()) {
    run->SetOutcome(server, controller::agents::FromProto(report.outcome()), now_ns);
  }
  if (report.has_progress()) {
    run->SetProgress(server, controller::agents::FromProto(report.progress()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::int64_t now_ns = 1;
  controller::job::Run run({.servers = 2,
                            .measurement = {.ranks = 2,
                                            .warmup = 1,
                                            .measure = 2,
                                            .tokens = 4096,
                                            .parameters = 1'000'000,
                                            .peak_flops_per_gpu = 1e15},
                            .wall_seconds_max = 3600,
                            .still_seconds_max = 60},
                           now_ns);
  for (const std::uint32_t server : {0u, 1u}) run.Connected(server);
  while (size >= 2) {
    const std::uint32_t server = data[0] & 1;
    const std::size_t length = std::min<std::size_t>(data[1], size - 2);
    controller::v1::AgentReport report;
    const bool parsed = report.ParseFromArray(data + 2, static_cast<int>(length));
    data += 2 + length;
    size -= 2 + length;
    now_ns += 1'000'000;
    if (parsed) Take(&run, server, report, now_ns);
    run.Step(now_ns);
    controller::job::ToJson(run.Predict()).dump();
    run.progress(now_ns);
    run.cost(now_ns);
  }
  for (const std::uint32_t server : {0u, 1u}) {
    run.Exited(server, "exited", now_ns);
    run.Disconnected(server, now_ns);
  }
  CHECK(run.IsOver());
  CHECK(!run.Judge().reason.empty());
  return 0;
}
