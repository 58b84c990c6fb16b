#include "services/cli/ask_what_if.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/cli/replay_document.h"
#include "services/cli/replays.h"
#include "services/cli/what_if.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli {

using controller::shown::NumberAt;
using controller::shown::StandingCondition;
using controller::shown::TextAt;
using controller::shown::ToPrintableMessage;
using nlohmann::json;

base::Result<json> AskWhatIf(const std::string& recording, const std::string& gpu,
                             const EmbeddedOptions& embedded) {
  const auto file = recording::RecordingFile::Open(recording);
  if (!file) return std::unexpected(file.error());
  const auto recorded = ReadRecordedJob(file->job());
  if (!recorded) return std::unexpected(recorded.error());
  const std::string path = std::filesystem::absolute(recording).lexically_normal().string();
  const auto replays = Replays::Start(embedded);
  if (!replays) return std::unexpected(replays.error());
  const auto unchanged = (*replays)->Predict(MakeReplayDocument(*recorded, path, {}));
  if (!unchanged) return std::unexpected(unchanged.error());
  if (NumberAt(*unchanged, {"status", "prediction", "iterationSeconds", "mean"}) <= 0) {
    return base::Fail(
        base::ErrorCode::kFailedPrecondition,
        base::StrCat(recording, " does not replay as it is, so that nothing can be compared: ",
                     ToPrintableMessage(TextAt(StandingCondition(*unchanged), {"message"}))));
  }
  std::vector<WhatIfResult> results;
  std::size_t replayed = 0;
  for (const WhatIf& what : WhatIfsOf(*recorded, gpu)) {
    WhatIfResult result = {.name = what.name, .jobs = {}};
    for (const ReplayChanges& changes : what.replays) {
      json document = MakeReplayDocument(*recorded, path, changes);
      document["metadata"]["name"] = "what-if" + std::to_string(replayed++);
      auto job = (*replays)->Predict(document);
      if (!job && job.error().code == base::ErrorCode::kUnavailable) {
        return std::unexpected(job.error());
      }
      // What the other ones come to does not depend on it.
      if (!job) {
        result.refusal = job.error().message;
        break;
      }
      result.jobs.push_back(std::move(*job));
    }
    results.push_back(std::move(result));
  }
  return WhatIfsToJson(*unchanged, results);
}

}  // namespace eidolon::cli
