// Answers that go on: logs that are followed, events of a job. Each occupies a thread of the server
// while it lasts, so there is a limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "services/controller/rest/api.h"

namespace httplib {
struct Response;
}

namespace eidolon::controller::rest {

// Shared by the server and its streams.
struct StreamState {
  std::atomic<bool> stopping = false;
  std::atomic<std::size_t> open = 0;
};

struct LogFormat {
  bool follow = false;
  bool prefix = false;       // "[s1] " before each line.
  bool timestamps = false;   // Virtual seconds before each line.
  std::uint64_t offset = 0;  // Byte offset in the log.
};

std::string FormatLine(const store::LogEntry& entry, const LogFormat& format);

// Fill in a chunked body. Requires: the job exists; state->open was counted up for this stream and
// is counted down by it.
void StreamLog(Api* api, std::shared_ptr<StreamState> state, const ObjectName& job,
               const LogFormat& format, httplib::Response* response);
// Server-sent events "status" with the whole object on every change, one "end" when the job is
// over.
void StreamEvents(Api* api, std::shared_ptr<StreamState> state, const ObjectName& job,
                  httplib::Response* response);

}  // namespace eidolon::controller::rest
