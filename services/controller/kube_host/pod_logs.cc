#include "services/controller/kube_host/pod_logs.h"

#include <algorithm>
#include <string_view>

namespace eidolon::controller::kube_host {
namespace {

struct Line {
  std::string time;  // Fraction filled up to nine digits, so that times sort as text.
  std::uint32_t server = 0;
  std::string_view text;
};

std::string SortableTime(std::string_view time) {
  std::string text(time.substr(0, time.find('Z')));
  if (text.find('.') == std::string::npos) text += '.';
  text.append(30 - std::min<std::size_t>(text.size(), 29), '0');
  return text.substr(0, 29);
}

void AddLines(const PodLog& log, std::vector<Line>* lines) {
  std::string_view rest = log.text;
  std::string last;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return;  // Torn: its end comes later.
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos) continue;
    // The runtime's times of one pod may step back; its order is right.
    last = std::max(last, SortableTime(line.substr(0, blank)));
    lines->push_back({last, log.server, line.substr(blank + 1)});
  }
}

}  // namespace

rest::LogPart MergeLogs(const std::vector<PodLog>& logs, std::uint64_t offset,
                        const std::string& until) {
  std::vector<Line> lines;
  for (const PodLog& log : logs) AddLines(log, &lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.time < b.time; });
  const std::string limit = until.empty() ? "" : SortableTime(until);
  rest::LogPart part;
  std::uint64_t at = 0;
  for (const Line& line : lines) {
    if (!limit.empty() && line.time > limit) break;
    const std::uint64_t begin = at;
    at += line.text.size() + 1;
    if (begin < offset) continue;
    part.entries.push_back({.server = line.server,
                            .standard_error = false,
                            .virtual_ps = 0,
                            .text = std::string(line.text)});
  }
  part.next_offset = std::max(at, offset);
  return part;
}

}  // namespace eidolon::controller::kube_host
