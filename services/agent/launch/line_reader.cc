#include "services/agent/launch/line_reader.h"

#include <errno.h>
#include <unistd.h>

#include <string_view>
#include <utility>

namespace eidolon::agent::launch {

std::vector<std::string> LineReader::Read() {
  char bytes[16 << 10];
  const ssize_t count = read(descriptor_, bytes, sizeof bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count <= 0) {
    Close();
    return {};
  }
  std::vector<std::string> lines;
  for (const char c : std::string_view(bytes, static_cast<std::size_t>(count))) {
    const bool ends = c == '\n' || c == '\r';
    if (!ends) rest_.push_back(c);
    // "\r\n" is one end; an empty line is a line only after a newline.
    if ((ends && (c == '\n' || !rest_.empty())) || rest_.size() == kLongestLine) {
      lines.push_back(std::exchange(rest_, {}));
    }
  }
  return lines;
}

std::optional<std::string> LineReader::TakeRest() {
  if (rest_.empty()) return std::nullopt;
  return std::exchange(rest_, {});
}

void LineReader::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

}  // namespace eidolon::agent::launch
