#include "services/cli/terminal.h"

#include <unistd.h>

#include "services/base/standard_output.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli {
namespace {

using controller::shown::ToPrintableLine;

// Carriage return and "erase to the end of the line" (ECMA-48).
constexpr char kEraseLine[] = "\r\033[K";

}  // namespace

Terminal Terminal::Standard(bool raw) {
  return {
      stdout,
      stderr,
      {.interactive = isatty(STDERR_FILENO) == 1, .printable = !raw && isatty(STDOUT_FILENO) == 1}};
}

Terminal Terminal::Messages(bool raw) {
  const bool interactive = isatty(STDERR_FILENO) == 1;
  return {stderr, stderr, {.interactive = interactive, .printable = !raw && interactive}};
}

Terminal::~Terminal() {
  const std::string rest = printable_.Finish();
  if (!rest.empty()) base::PrintTo(out_, rest);
}

void Terminal::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!progress_.empty()) {
    std::fputs(kEraseLine, err_);
    std::fflush(err_);
  }
  const std::string shown = options_.printable ? printable_.Add(text) : text;
  base::PrintTo(out_, shown);
  if (!progress_.empty()) {
    std::fputs(progress_.c_str(), err_);
    std::fflush(err_);
  }
}

void Terminal::ShowProgress(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const std::string shown = ToPrintableLine(text);  // It may quote a job's message.
  if (!options_.interactive) {
    const std::int64_t now_ns = clock_.MonotonicNs();
    const std::int64_t wait_ns = options_.seconds_between_lines * 1'000'000'000;
    if (shown.empty() || now_ns - last_line_ns_ < wait_ns) return;
    last_line_ns_ = now_ns;
    std::fprintf(err_, "%s\n", shown.c_str());
    return;
  }
  if (shown == progress_) return;
  progress_ = shown;
  std::fputs(kEraseLine, err_);
  std::fputs(shown.c_str(), err_);
  std::fflush(err_);
}

}  // namespace eidolon::cli
