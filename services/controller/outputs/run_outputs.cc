// Files of a timeline and of a recording can be put behind each other, so the servers' parts become
// one file by appending, without reading what they hold. An output is kept as a whole or not at
// all: a timeline without one server would look like a server that did nothing. The first error of
// a file is final, and later parts of it are dropped. bytes_ are the bytes that this run has
// reserved in the store; they belong to the store once it keeps the file, and the destructor
// releases the rest. Each server's file is removed as soon as it is appended, which keeps the need
// for disk space near once the size.
#include "services/controller/outputs/run_outputs.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "services/base/text.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/outputs/critical_path.h"

namespace eidolon::controller::outputs {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

namespace fs = std::filesystem;

// Limit of all servers: with what is made of them, some 300 MiB of memory at once.
constexpr std::uintmax_t kTraceBytesMax = std::uintmax_t{64} << 20;

base::Result<void> Append(const std::string& source, const std::string& target) {
  std::ifstream in(source, std::ios::binary);
  std::ofstream out(target, std::ios::app | std::ios::binary);
  if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  out.close();
  if (in.is_open() && out) return {};
  return Fail(ErrorCode::kResourceExhausted, StrCat("cannot write ", target));
}

std::string_view NameOf(Kind kind) {
  switch (kind) {
    case Kind::kTimeline:
      return "timeline";
    case Kind::kTraces:
      return "traces";
    case Kind::kRecording:
      return "recording";
  }
  return "";
}

std::string_view WayOut(Kind kind) {
  return kind == Kind::kRecording
             ? "let the program run fewer iterations (iterations.warmup and iterations.measure)"
             : "show fewer ranks, iterations or operations by outputs.timeline";
}

}  // namespace

RunOutputs::RunOutputs(OutputStore* store, JobId job, Wanted wanted)
    : store_(*store), job_(std::move(job)), wanted_(wanted), folder_(store->MakeFolder()) {}

RunOutputs::~RunOutputs() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  store_.Release(bytes_);
}

std::string RunOutputs::PathOf(const FileName& name) const {
  return StrCat(folder_, "/", NameOf(name.first), "-", name.second);
}

void RunOutputs::GiveUp(const FileName& name, File* file, std::string why) {
  std::error_code ignored;
  fs::remove(PathOf(name), ignored);
  store_.Release(file->bytes);
  bytes_ -= file->bytes;
  file->bytes = 0;
  file->error = std::move(why);
}

void RunOutputs::Add(std::uint32_t server, const Part& part) {
  const std::lock_guard lock(mutex_);
  const FileName name(part.kind, server);
  File& file = files_[name];
  if (file.is_complete || !file.error.empty()) return;
  if (!part.error.empty()) return GiveUp(name, &file, part.error);
  const std::uint64_t bytes = part.data.size();
  if (bytes_ + bytes > store_.job_bytes_max()) {
    return GiveUp(name, &file,
                  StrCat("those of all servers have more than the ", store_.job_bytes_max(),
                         " bytes that the controller keeps of one job; ", WayOut(part.kind)));
  }
  if (!store_.Reserve(bytes)) {
    return GiveUp(name, &file, "other jobs send theirs, and the controller has no room for more");
  }
  bytes_ += bytes;
  file.bytes += bytes;
  std::ofstream out(PathOf(name), std::ios::app | std::ios::binary);
  out.write(part.data.data(), static_cast<std::streamsize>(bytes));
  out.close();
  if (!out) return GiveUp(name, &file, "the controller cannot write it");
  file.is_complete = part.is_last;
}

RunOutputs::Kept RunOutputs::Keep(const std::vector<std::uint32_t>& servers,
                                  std::string_view recorded) {
  const std::lock_guard lock(mutex_);
  Kept kept;
  if (wanted_.timeline) KeepTimeline(servers, &kept);
  if (wanted_.recording) KeepRecording(servers, recorded, &kept);
  return kept;
}

void RunOutputs::KeepTimeline(const std::vector<std::uint32_t>& servers, Kept* kept) {
  const auto timeline = KeepWhole(Kind::kTimeline, servers, "");
  if (!timeline) {
    kept->warnings.push_back("the timeline was not stored: " + timeline.error().message);
    return;
  }
  kept->timeline_bytes = *timeline;
  if (auto path = FindPath(servers)) {
    kept->path = std::move(*path);
  } else {
    kept->warnings.push_back("the critical path was not found: " + path.error().message);
  }
}

void RunOutputs::KeepRecording(const std::vector<std::uint32_t>& servers, std::string_view recorded,
                               Kept* kept) {
  std::ostringstream head;
  recording::WriteJob(recorded, &head);
  const auto recording = KeepWhole(Kind::kRecording, servers, head.view());
  if (recording) {
    kept->recording_bytes = *recording;
  } else {
    kept->warnings.push_back("the recording was not stored: " + recording.error().message);
  }
}

base::Result<void> RunOutputs::CheckAll(Kind kind,
                                        const std::vector<std::uint32_t>& servers) const {
  for (const std::uint32_t server : servers) {
    const auto file = files_.find({kind, server});
    if (file != files_.end() && file->second.is_complete) continue;
    std::string why = "it did not send all of it";
    if (file == files_.end()) why = "it sent none";
    if (file != files_.end() && !file->second.error.empty()) why = file->second.error;
    return Fail(ErrorCode::kResourceExhausted, StrCat("server ", server, ": ", why));
  }
  return {};
}

base::Result<std::uint64_t> RunOutputs::KeepWhole(Kind kind,
                                                  const std::vector<std::uint32_t>& servers,
                                                  std::string_view head) {
  if (auto all = CheckAll(kind, servers); !all) return std::unexpected(all.error());
  std::string whole = PathOf({kind, servers.front()});
  std::uint64_t bytes = head.size();
  if (bytes > 0) {
    if (!store_.Reserve(bytes)) {
      return Fail(ErrorCode::kResourceExhausted, "the controller has no room for more");
    }
    bytes_ += bytes;
    whole = StrCat(folder_, "/", NameOf(kind));
    std::ofstream out(whole, std::ios::trunc | std::ios::binary);
    out << head;
    out.close();
    if (!out) return Fail(ErrorCode::kResourceExhausted, StrCat("cannot write ", whole));
  }
  for (const std::uint32_t server : servers) {
    const FileName name(kind, server);
    bytes += files_[name].bytes;
    if (PathOf(name) == whole) continue;
    if (auto done = Append(PathOf(name), whole); !done) return std::unexpected(done.error());
    // At no time the disk has more than one part twice.
    std::error_code ignored;
    fs::remove(PathOf(name), ignored);
  }
  if (auto done = store_.Keep(job_, {.kind = kind, .path = whole, .bytes = bytes}); !done) {
    return std::unexpected(done.error());
  }
  bytes_ -= bytes;  // They are the store's now.
  return bytes;
}

base::Result<critical_path::Summary> RunOutputs::FindPath(
    const std::vector<std::uint32_t>& servers) const {
  if (auto all = CheckAll(Kind::kTraces, servers); !all) return std::unexpected(all.error());
  std::vector<std::string> files;
  for (const std::uint32_t server : servers) files.push_back(PathOf({Kind::kTraces, server}));
  return FindCriticalPath(files, kTraceBytesMax);
}

}  // namespace eidolon::controller::outputs
