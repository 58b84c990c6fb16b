// Logs and events are two streams in two threads, because either may be silent for hours. The job's
// end is taken from the events; the log's stream then ends by itself after its last line, so
// joining its thread is what makes output complete before the report. Exit statuses are an
// interface for scripts: fewer iterations than wanted give a prediction and still a status of their
// own.
#include "services/cli/follow.h"

#include <nlohmann/json.hpp>
#include <thread>

#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/cli/report.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::Result;
using controller::shown::PhaseOf;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using nlohmann::json;

std::string JobPath(const std::string& name_space, const std::string& name) {
  const std::string all = "/api/v1/namespaces/" + name_space + "/simulationjobs";
  return name.empty() ? all : all + "/" + name;
}

int ExitStatusOf(const json& job) {
  if (PhaseOf(job) != "Complete") return kFailed;
  const bool fewer = TextAt(StandingCondition(job), {"reason"}) == "CommandEnded";
  return fewer ? kFewerIterations : kPredicted;
}

json WithoutQuotedOutput(json job) {
  const json::json_pointer conditions("/status/conditions");
  if (!job.contains(conditions)) return job;
  for (json& condition : job[conditions]) {
    const std::string message = TextAt(condition, {"message"});
    if (const std::size_t at = message.find(controller::shown::kQuotedOutput); at != message.npos) {
      condition["message"] = message.substr(0, at);
    }
  }
  return job;
}

bool EventSplitter::Next(Event* event) {
  const std::size_t end = buffer_.find("\n\n");
  if (end == std::string::npos) return false;
  *event = {};
  for (const std::string_view line : base::Split(std::string_view(buffer_).substr(0, end), '\n')) {
    if (line.starts_with("event: ")) event->type = line.substr(7);
    if (line.starts_with("data: ")) event->data += line.substr(6);
  }
  buffer_.erase(0, end + 2);
  return true;
}

Result<json> Follow(const Client& client, const FollowOptions& options, Terminal* terminal) {
  const std::string path = JobPath(options.name_space, options.name);
  Result<void> logs_done;
  std::thread logs;
  if (options.logs) {
    logs = std::thread([&] {
      logs_done = client.Stream(path + "/logs?follow=true" + (options.prefix ? "&prefix=true" : ""),
                                [&](const std::string& text) {
                                  terminal->Print(text);
                                  return !base::OutputError();
                                });
    });
  }
  json last;
  bool is_left = false;
  EventSplitter events;
  const auto done = client.Stream(path + "/events", [&](const std::string& text) {
    events.Add(text);
    EventSplitter::Event event;
    while (events.Next(&event)) {
      if (event.type != "status") continue;
      last = json::parse(event.data, nullptr, /*allow_exceptions=*/false);
      terminal->ShowProgress(FormatProgress(last));
      is_left = options.goes_on && !options.goes_on(last);
      if (is_left) return false;
    }
    return true;
  });
  if (logs.joinable()) logs.join();
  terminal->ShowProgress("");
  if (!done) return std::unexpected(done.error());
  const std::string phase = PhaseOf(last);
  if (is_left || phase == "Complete" || phase == "Failed" || phase == "Interrupted") return last;
  return Fail(ErrorCode::kUnavailable,
              "the job '" + options.name + "' was deleted, or its controller stopped");
}

}  // namespace eidolon::cli
