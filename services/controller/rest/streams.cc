// A stream occupies a worker and waits in slices of kWait, after each of which it looks whether the
// server stops or the client has gone. It keeps only the last version it has sent: what changes in
// between comes as one event, so a slow reader costs no memory. A log stream is a loop over
// offsets, and ends only after an empty part, so lines that come with the job's end are sent. An
// empty chunk would end the body, hence no empty writes.
#include "services/controller/rest/streams.h"

#include <httplib.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "services/base/text.h"

namespace eidolon::controller::rest {
namespace {

// How long one wait lasts: a stream notices within this time that the server stops or its reader is
// gone.
constexpr std::chrono::milliseconds kWait(500);
// A comment keeps proxies from closing a silent stream: every 15 s.
constexpr int kWaitsPerHeartbeat = 30;
constexpr std::chrono::milliseconds kEventPause(200);

bool Send(httplib::DataSink& sink, const std::string& text) {
  return sink.write(text.data(), text.size());
}

std::string TextOf(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// One by one: the first event of a list has thousands of them, which would be copied into one tree.
std::string ListEvent(const std::string& event, const ListChange& change,
                      const std::set<std::string>& known) {
  std::string changed;
  for (const nlohmann::json& object : change.changed) {
    if (!changed.empty()) changed += ',';
    changed += TextOf(object);
  }
  nlohmann::json gone = nlohmann::json::array();
  for (const std::string& name : known) {
    if (!change.present.contains(name)) gone.push_back(name);
  }
  return base::StrCat("id: ", change.version, "\nevent: ", event, "\ndata: {\"changed\":[", changed,
                      "],\"gone\":", TextOf(gone), "}\n\n");
}

}  // namespace

StreamState::Opened StreamState::Open(const std::string& client) {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [name, count] : open_) all += count;
  if (all >= streams_max_) return Opened::kTooMany;
  const auto found = open_.find(client);
  if (found != open_.end() && found->second >= client_max()) return Opened::kTooManyOfClient;
  ++open_[client];
  return Opened::kYes;
}

void StreamState::Close(const std::string& client) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(client);
  if (--found->second == 0) open_.erase(found);
}

std::string FormatLine(const store::LogEntry& entry, const LogFormat& format) {
  std::string line;
  if (format.timestamps) {
    char text[32];
    std::snprintf(text, sizeof text, "%12.6f ", static_cast<double>(entry.virtual_ps) * 1e-12);
    line += text;
  }
  if (format.prefix) line += base::StrCat("[s", entry.server, "] ");
  return line + entry.text + "\n";
}

void StreamLog(Api* api, const Stream& stream, const ObjectName& job, const LogFormat& format,
               httplib::Response* response) {
  response->set_chunked_content_provider(
      "text/plain; charset=utf-8", [api, stream, job, format, offset = format.offset](
                                       std::size_t, httplib::DataSink& sink) mutable {
        const auto timeout = format.follow ? kWait : std::chrono::milliseconds(0);
        const auto part = api->ReadLog(job, offset, timeout);
        const bool empty = part && part->entries.empty() && part->next_offset == offset;
        if (!part || stream.state->stopping || part->ended || (empty && !format.follow)) {
          sink.done();
          return true;
        }
        offset = part->next_offset;
        std::string text;
        for (const store::LogEntry& entry : part->entries) text += FormatLine(entry, format);
        // An empty chunk would end the body.
        return text.empty() ? sink.is_writable() : Send(sink, text);
      });
}

void StreamEvents(AwaitObject await, const Stream& stream, httplib::Response* response) {
  response->set_header("Cache-Control", "no-store");
  response->set_chunked_content_provider(
      "text/event-stream", [await = std::move(await), stream, seen = std::int64_t{0}, waits = 0](
                               std::size_t, httplib::DataSink& sink) mutable {
        const bool first = seen == 0;
        const auto change = await(seen, kWait);
        if (!change || stream.state->stopping) {
          if (!change) {
            const char* why =
                change.error().code == base::ErrorCode::kNotFound ? "deleted" : "gone";
            Send(sink, base::StrCat("event: end\ndata: {\"reason\":\"", why, "\"}\n\n"));
          }
          sink.done();
          return true;
        }
        std::string text = first ? "retry: 1000\n\n" : "";
        if (change->version > seen) {
          seen = change->version;
          waits = 0;
          text +=
              base::StrCat("id: ", seen, "\nevent: status\ndata: ", TextOf(change->object), "\n\n");
        } else if (++waits % kWaitsPerHeartbeat == 0) {
          text += ": still here\n\n";
        }
        if (!text.empty() && !Send(sink, text)) return false;
        if (change->over) {
          Send(sink, "event: end\ndata: {\"reason\":\"over\"}\n\n");
          sink.done();
          return true;
        }
        return sink.is_writable();
      });
}

void StreamList(AwaitList await, const std::string& event, const Stream& stream,
                httplib::Response* response) {
  struct Seen {
    std::int64_t version = 0;
    std::set<std::string> names;
    int waits = 0;
    bool first = true;
  };
  response->set_header("Cache-Control", "no-store");
  response->set_chunked_content_provider(
      "text/event-stream", [await = std::move(await), event, stream, seen = Seen()](
                               std::size_t, httplib::DataSink& sink) mutable {
        const auto wait = seen.first ? std::chrono::milliseconds(0) : kWait;
        const auto change = await(seen.version, seen.names.size(), wait);
        if (!change || stream.state->stopping) {
          if (!change) Send(sink, "event: end\ndata: {\"reason\":\"gone\"}\n\n");
          sink.done();
          return true;
        }
        const bool news = !change->changed.empty() || change->present != seen.names;
        if (seen.first || news) {
          const std::string text =
              (seen.first ? "retry: 1000\n\n" : "") + ListEvent(event, *change, seen.names);
          if (!Send(sink, text)) return false;
          // What runs changes all the time; what changes meanwhile comes together.
          if (!seen.first) std::this_thread::sleep_for(kEventPause);
          seen = {.version = change->version, .names = change->present, .waits = 0, .first = false};
        } else if (++seen.waits % kWaitsPerHeartbeat == 0) {
          if (!Send(sink, ": still here\n\n")) return false;
        }
        return sink.is_writable();
      });
}

}  // namespace eidolon::controller::rest
