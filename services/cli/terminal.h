// Output for people: lines on stdout, and one changing progress line on stderr when that is a
// terminal. What jobs print reaches a terminal with its control characters shown (printable.h).
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

#include "services/controller/shown/printable.h"

namespace eidolon::cli {

// Thread safe: lines and progress do not mix.
class Terminal {
 public:
  struct Options {
    bool interactive = false;  // Show progress lines.
    bool printable = false;    // Show control characters on `out`.
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
  // Replaces the progress line; empty removes it.
  void ShowProgress(const std::string& text);
  bool interactive() const { return options_.interactive; }

 private:
  std::FILE* out_;
  std::FILE* err_;
  const Options options_;
  std::mutex mutex_;  // Guards what follows, and the order of output.
  controller::shown::Printable printable_;
  std::string progress_;
};

}  // namespace eidolon::cli
