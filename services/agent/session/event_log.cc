#include "services/agent/session/event_log.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::session {

namespace {

// The job's own processes can reach its files: one with a longer line is not what was written.
constexpr std::size_t kLineBytesMax = 1 << 20;

}  // namespace

EventLog::EventLog(std::string path) : path_(std::move(path)), file_(path_, std::ios::trunc) {}

void EventLog::Add(const device::ResolvedOp& op, const std::string& name) {
  const std::uint64_t offset = op.sequence - first_;
  if (offset >= waiting_.size()) waiting_.resize(offset + 1);
  waiting_[offset] = base::StrCat("device ", op.device, " stream ", op.stream, " op ", op.sequence,
                                  " ", name, " start ", op.start.ps, " end ", op.finish.ps, "\n");
  while (!waiting_.empty() && waiting_.front().has_value()) {
    file_ << *waiting_.front();
    waiting_.pop_front();
    ++first_;
  }
}

void EventLog::Finish() {
  for (const auto& line : waiting_) {
    if (line.has_value()) file_ << *line;
  }
  waiting_.clear();
  file_.close();
}

void JoinEventLogs(std::vector<EventLogPart> parts, const std::string& target) {
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::ofstream joined(target, std::ios::trunc);
  std::vector<char> line(kLineBytesMax);
  for (const EventLogPart& part : parts) {
    if (part.rank.has_value()) {
      std::ifstream file(part.path);
      for (std::uint64_t count = 0; count < part.lines_max.value_or(~std::uint64_t{0}); ++count) {
        if (!file.getline(line.data(), static_cast<std::streamsize>(line.size()))) break;
        joined << "rank " << *part.rank << ' ' << line.data() << '\n';
      }
    }
    std::remove(part.path.c_str());
  }
}

}  // namespace eidolon::agent::session
