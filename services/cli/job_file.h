// Fetches a file that a job leaves, its timeline or its recording.
#pragma once

#include <string>

#include "services/base/error.h"
#include "services/cli/client.h"

namespace eidolon::cli {

struct JobFileRequest {
  std::string name_space;
  std::string job;
  std::string what;  // "timeline" or "recording".
  std::string file;  // "-": standard output.
};

// A file that could not be written whole is removed.
base::Result<void> FetchJobFile(const Client& client, const JobFileRequest& request);
// Returns whether the file can be written: asked before a long run.
base::Result<void> CheckJobFile(const std::string& what, const std::string& file);

// Says on stderr where the timeline is and what opens it.
void PrintTimelineHint(const std::string& file);
// The same of a recording.
void PrintRecordingHint(const std::string& file);

}  // namespace eidolon::cli
