// Feeds a user's program's output: any bytes through the pipe as lines, to the verdict and to a
// pattern. The first line of the input is the pattern.
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/agent/launch/line_reader.h"
#include "services/agent/outcome/line_pattern.h"
#include "services/agent/outcome/verdict.h"
#include "services/base/check.h"

namespace eidolon::agent::outcome {
namespace {

constexpr std::size_t kPatternBytesMax = 512;  // As the controller allows.
constexpr std::size_t kPipeBytes = 60 << 10;   // Nobody reads while it is written.

void Run(std::string_view data) {
  const std::size_t cut = std::min(data.find('\n'), data.size());
  auto pattern = LinePattern::Compile(std::string(data.substr(0, std::min(cut, kPatternBytesMax))));
  if (!pattern) CHECK(!pattern.error().message.empty());
  const std::string_view text = data.substr(cut).substr(0, kPipeBytes);
  int ends[2];
  CHECK(pipe(ends) == 0);
  CHECK(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  launch::LineReader reader(ends[0]);
  Verdict verdict;
  std::size_t bytes = 0;
  const auto take = [&](const std::string& line) {
    CHECK(line.find('\n') == std::string::npos);
    bytes += line.size();
    verdict.NoteErrorLine(line);
    if (pattern) pattern->EndsIteration(line);
  };
  while (reader.descriptor() >= 0) {
    for (const std::string& line : reader.Read()) take(line);
  }
  if (const auto rest = reader.TakeRest()) take(*rest);
  CHECK(bytes <= text.size());
  CHECK(!verdict.Judge(launch::ExitStatus{.code = 1, .signal = 0}).message.empty());
}

}  // namespace
}  // namespace eidolon::agent::outcome

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  eidolon::agent::outcome::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
