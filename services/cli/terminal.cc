#include "services/cli/terminal.h"

#include <unistd.h>

namespace eidolon::cli {
namespace {

// Carriage return and "erase to the end of the line" (ECMA-48).
constexpr char kEraseLine[] = "\r\033[K";

}  // namespace

Terminal Terminal::Standard() { return {stdout, stderr, isatty(STDERR_FILENO) == 1}; }

void Terminal::Print(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!progress_.empty()) {
    std::fputs(kEraseLine, err_);
    std::fflush(err_);
  }
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
  if (!progress_.empty()) {
    std::fputs(progress_.c_str(), err_);
    std::fflush(err_);
  }
}

void Terminal::ShowProgress(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!interactive_ || text == progress_) return;
  progress_ = text;
  std::fputs(kEraseLine, err_);
  std::fputs(text.c_str(), err_);
  std::fflush(err_);
}

}  // namespace eidolon::cli
