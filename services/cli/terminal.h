// Output for people: lines on stdout, and one changing progress line on stderr when that is a
// terminal, else a line of progress every half a minute. What jobs print reaches a terminal with
// its control characters shown (printable.h).
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

#include "services/base/clock.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli {

// Thread safe: lines and progress do not mix.
class Terminal {
 public:
  struct Options {
    bool interactive = false;  // Show progress lines.
    bool printable = false;    // Show control characters on `out`.
    std::int64_t seconds_between_lines = 30;
  };
  Terminal(std::FILE* out, std::FILE* err, const Options& options)
      : out_(out), err_(err), options_(options) {}
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  // stdout and stderr; progress when stderr is a terminal. `raw`: control characters stay what they
  // are, also on a terminal.
  static Terminal Standard(bool raw);
  // stderr for both: what a program prints while stdout is for the result alone.
  static Terminal Messages(bool raw);

  // Text that ends with a line end.
  void Print(const std::string& text);
  // Replaces the progress line; empty removes it. Without a terminal a line is written instead,
  // unless the last one is younger than options.seconds_between_lines.
  void ShowProgress(const std::string& text);
  bool interactive() const { return options_.interactive; }

 private:
  std::FILE* out_;
  std::FILE* err_;
  const Options options_;
  std::mutex mutex_;  // Guards what follows, and the order of output.
  controller::shown::Printable printable_;
  std::string progress_;
  const base::SystemClock clock_;
  std::int64_t last_line_ns_ = clock_.MonotonicNs();
};

}  // namespace eidolon::cli
