// Answers that go on: logs that are followed, events of a job. Each occupies a thread of the server
// while it lasts, so there is a limit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "services/controller/rest/api.h"

namespace httplib {
struct Response;
}

namespace eidolon::controller::rest {

// Shared by the server and its streams; thread safe.
class StreamState {
 public:
  explicit StreamState(std::size_t streams_max) : streams_max_(streams_max) {}

  // One client never has all streams: two thirds of them at most.
  std::size_t streams_max() const { return streams_max_; }
  std::size_t client_max() const { return (2 * streams_max_ + 2) / 3; }
  // Counts a stream of a client (controller/http/peer.h) up, unless all or this client have too
  // many.
  enum class Opened { kYes, kTooMany, kTooManyOfClient };
  Opened Open(const std::string& client);
  void Close(const std::string& client);

  std::atomic<bool> stopping = false;

 private:
  const std::size_t streams_max_;
  std::mutex mutex_;                         // Guards what follows.
  std::map<std::string, std::size_t> open_;  // By client; none is 0.
};

struct LogFormat {
  bool follow = false;
  bool prefix = false;       // "[s1] " before each line.
  bool timestamps = false;   // Virtual seconds before each line.
  std::uint64_t offset = 0;  // Byte offset in the log.
};

std::string FormatLine(const store::LogEntry& entry, const LogFormat& format);

// A stream that was opened: whose, and how many there are. The last copy closes it.
struct Stream {
  std::shared_ptr<StreamState> state;
  std::shared_ptr<void> closes;
};

// Fill in a chunked body. Requires: the job exists.
void StreamLog(Api* api, const Stream& stream, const ObjectName& job, const LogFormat& format,
               httplib::Response* response);
// Waits for a version of one object, as Api::AwaitChange.
using AwaitObject =
    std::function<ApiResult<JobChange>(std::int64_t after, std::chrono::milliseconds timeout)>;
// Server-sent events "status" with the whole object on every change, one "end" when it is over.
void StreamEvents(AwaitObject await, const Stream& stream, httplib::Response* response);
// Waits for a version of a list, as Api::AwaitJobs.
using AwaitList = std::function<ApiResult<ListChange>(std::int64_t after, std::size_t known,
                                                      std::chrono::milliseconds timeout)>;
// Server-sent events of that name with summaries: first of all objects, then of those that have
// changed and the names of those that are gone; at most five a second.
void StreamList(AwaitList await, const std::string& event, const Stream& stream,
                httplib::Response* response);

}  // namespace eidolon::controller::rest
