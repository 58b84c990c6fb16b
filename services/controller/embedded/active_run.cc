// The job's program runs as this user and can write in the run directory, so what lies there is
// untrusted: a file is read only if it is a regular one, because opening a FIFO would block the
// control thread, and copies are made readable by their owner alone. A joined file is written
// beside its place and renamed, so a reader sees all of it or nothing. A server without its part
// makes the joined file fail: a timeline that lacks one server would look like a server that did
// nothing. The index of a token is the number of its server.
#include "services/controller/embedded/active_run.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/diagnosis/diagnosis.h"
#include "services/controller/outputs/critical_path.h"
#include "services/controller/place/token.h"

namespace eidolon::controller::embedded {
namespace {

constexpr std::size_t kTailBytes = 600;
constexpr std::size_t kTokenBytes = 16;
// Some 60 bytes an operation and its call: 30 million of them, or 30 servers with as many as a
// timeline keeps of one.
constexpr std::uintmax_t kTraceBytesMax = std::uintmax_t{2} << 30;

job::RunOptions RunOptionsOf(const ActiveRunParts& parts) {
  job::RunOptions options = job::RunOptionsOf(parts.resolved, parts.peak_flops);
  options.exit_seconds_max = job::kExitSeconds;
  return options;
}

}  // namespace

ActiveRun::ActiveRun(ActiveRunParts parts)
    : parts_(std::move(parts)),
      run_(RunOptionsOf(parts_), parts_.now_ns),
      processors_(ReadProcessorTime()) {
  for (std::uint32_t server = 0; server < parts_.resolved.servers; ++server) {
    tokens_.push_back(place::MakeToken(kTokenBytes));
  }
}

void ActiveRun::Attach(std::uint32_t server, std::shared_ptr<agents::AgentLink> link) {
  links_[server] = std::move(link);
  run_.Connected(server);
}

std::vector<std::shared_ptr<agents::AgentLink>> ActiveRun::links() const {
  std::vector<std::shared_ptr<agents::AgentLink>> all;
  for (const auto& [server, link] : links_) all.push_back(link);
  return all;
}

void ActiveRun::FillIn(job::JobStatus* status, std::int64_t now_ns) const {
  status->progress = run_.progress(now_ns);
  status->prediction = run_.Predict();
  status->prediction->diagnosis =
      diagnosis::Diagnose(*status->prediction, parts_.resolved.spec.command);
  status->simulation = run_.cost(now_ns);
  if (const auto now = ReadProcessorTime(); now && processors_) {
    status->simulation->machine = LoadBetween(*processors_, *now);
  }
  status->start_time = parts_.start_time;
}

base::Result<void> ActiveRun::SaveEventLogs(const std::string& folder) const {
  base::Result<void> result;
  for (std::uint32_t server = 0; server < parts_.resolved.servers; ++server) {
    std::error_code error;
    const std::string source = parts_.directory.server_path(server) + "/events.log";
    if (!std::filesystem::exists(source, error)) continue;
    const std::string target = base::StrCat(folder, "/server-", server, ".log");
    std::filesystem::create_directories(folder, error);
    if (!error) {
      std::filesystem::copy_file(source, target, std::filesystem::copy_options::overwrite_existing,
                                 error);
    }
    // The copy has the mode that the job's user gave the original.
    if (!error) {
      std::filesystem::permissions(
          target, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
    }
    if (!error) continue;
    std::error_code ignored;
    std::filesystem::remove(target, ignored);
    result = base::Fail(
        base::ErrorCode::kResourceExhausted,
        base::StrCat("the event log of server ", server, " was not stored: ", error.message()));
  }
  return result;
}

base::Result<void> ActiveRun::SaveTimeline(const std::string& path) const {
  if (auto joined = Join("timeline.pftrace", "", path); !joined) {
    return base::Wrap("the timeline was not stored", joined.error());
  }
  return {};
}

base::Result<critical_path::Summary> ActiveRun::FindCriticalPath() const {
  std::vector<std::string> files;
  for (const std::uint32_t server : parts_.resolved.AgentServers()) {
    files.push_back(parts_.directory.server_path(server) + "/critical_path");
  }
  auto found = outputs::FindCriticalPath(files, kTraceBytesMax);
  if (!found) return base::Wrap("the critical path was not found", found.error());
  return found;
}

base::Result<void> ActiveRun::SaveRecording(const std::string& job, const std::string& path) const {
  std::ostringstream head;
  recording::WriteJob(job, &head);
  if (auto joined = Join("recording", head.view(), path); !joined) {
    return base::Wrap("the recording was not stored", joined.error());
  }
  return {};
}

// The servers' files of this name behind each other, after `head`.
base::Result<void> ActiveRun::Join(const std::string& file, std::string_view head,
                                   const std::string& path) const {
  const auto fail = [](const std::string& why) {
    return base::Fail(base::ErrorCode::kResourceExhausted, why);
  };
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // Who reads it sees a whole one.
  const std::string part = path + ".part";
  std::ofstream out(part, std::ios::trunc | std::ios::binary);
  std::filesystem::permissions(
      part, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, error);
  out << head;
  for (const std::uint32_t server : parts_.resolved.AgentServers()) {
    if (!out) break;
    const std::string source = parts_.directory.server_path(server) + "/" + file;
    // A job may have put a pipe in its place.
    std::error_code gone;
    std::ifstream in;
    if (std::filesystem::is_regular_file(source, gone)) in.open(source, std::ios::binary);
    if (!in.is_open()) {
      std::filesystem::remove(part, error);
      return fail(base::StrCat("server ", server, " wrote none"));
    }
    if (in.peek() != std::ifstream::traits_type::eof()) out << in.rdbuf();
  }
  out.close();
  if (out) std::filesystem::rename(part, path, error);
  if (out && !error) return {};
  const std::string why = error ? error.message() : "cannot write " + part;
  std::filesystem::remove(part, error);
  return fail(why);
}

std::string AgentLogTail(const std::string& server_path) {
  const auto file = base::OpenRegularFile(server_path + "/agent.log");
  if (!file) return "";
  const off_t size = lseek(*file, 0, SEEK_END);
  std::string tail(kTailBytes, '\0');
  const ssize_t count = pread(*file, tail.data(), tail.size(),
                              std::max<off_t>(0, size - static_cast<off_t>(kTailBytes)));
  close(*file);
  tail.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail;
}

}  // namespace eidolon::controller::embedded
