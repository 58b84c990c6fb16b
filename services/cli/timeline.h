// Fetches the timeline of a job into a file.
#pragma once

#include <string>

#include "services/base/error.h"
#include "services/cli/client.h"

namespace eidolon::cli {

struct TimelineRequest {
  std::string name_space;
  std::string job;
  std::string file;  // "-": standard output.
};

// A file that could not be written whole is removed.
base::Result<void> FetchTimeline(const Client& client, const TimelineRequest& request);
// Whether the file can be written: asked before a long run.
base::Result<void> CheckTimelineFile(const std::string& file);

// Says on stderr where the timeline is and what opens it.
void PrintTimelineHint(const std::string& file);

}  // namespace eidolon::cli
