#include "services/cli/follow_sweep.h"

#include <nlohmann/json.hpp>

#include "services/base/text.h"
#include "services/cli/follow.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/sweep/plan.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using controller::shown::At;
using controller::shown::CountAt;
using controller::shown::TextAt;
using nlohmann::json;

std::string SweepPath(const std::string& name_space, const std::string& name) {
  const std::string all = "/api/v1/namespaces/" + name_space + "/simulationsweeps";
  return name.empty() ? all : all + "/" + name;
}

std::string FormatSweepProgress(const json& sweep) {
  const json& counts = At(sweep, {"status", "counts"});
  const std::int64_t failed = CountAt(counts, {"failed"});
  return StrCat(CountAt(counts, {"complete"}) + failed, " of ", CountAt(counts, {"points"}),
                " points, ", CountAt(counts, {"running"}), " running",
                failed > 0 ? StrCat(", ", failed, " without a prediction") : "");
}

Result<json> SubmitSweep(const Client& client, const std::string& name_space, const json& document,
                         Terminal* terminal) {
  auto created = client.SendForJson({.method = "POST",
                                     .path = SweepPath(name_space),
                                     .body = document.dump(),
                                     .content_type = "application/json"});
  std::string name;
  if (created) {
    name = TextAt(*created, {"metadata", "name"});
  } else {
    name = TextAt(document, {"metadata", "name"});
    const auto present = name.empty() ? Result<json>(std::unexpected(created.error()))
                                      : client.SendForJson({.path = SweepPath(name_space, name)});
    if (!present) return created;
    json kept = At(*present, {"spec"});
    // The recording keeps this of its job.
    if (!At(document, {"spec", "recording"}).is_null()) kept["job"] = At(document, {"spec", "job"});
    json wanted = At(document, {"spec"});
    if (!wanted.contains("job")) wanted["job"] = nullptr;
    // They may have been changed since, and change nothing of what is predicted.
    for (const char* pace : {"suspend", "concurrency"}) {
      kept.erase(pace);
      wanted.erase(pace);
    }
    if (kept != wanted) return created;
  }
  json last;
  EventSplitter events;
  const auto done = client.Stream(SweepPath(name_space, name) + "/events", [&](const auto& text) {
    events.Add(text);
    EventSplitter::Event event;
    while (events.Next(&event)) {
      if (event.type != "status") continue;
      last = json::parse(event.data, nullptr, /*allow_exceptions=*/false);
      terminal->ShowProgress(FormatSweepProgress(last));
    }
    return true;
  });
  terminal->ShowProgress("");
  if (!done) return std::unexpected(done.error());
  if (controller::sweep::IsSweepOver(last)) return last;
  return Fail(ErrorCode::kUnavailable,
              "the sweep '" + name +
                  "' was deleted, or its controller stopped; the same command "
                  "goes on with it");
}

}  // namespace eidolon::cli
