// Output for people: lines on stdout, and one changing progress line on stderr when that is a
// terminal.
#pragma once

#include <cstdio>
#include <mutex>
#include <string>

namespace eidolon::cli {

// Thread safe: lines and progress do not mix.
class Terminal {
 public:
  // `interactive`: show progress lines.
  Terminal(std::FILE* out, std::FILE* err, bool interactive)
      : out_(out), err_(err), interactive_(interactive) {}
  // stdout and stderr; progress when stderr is a terminal.
  static Terminal Standard();

  // Text that ends with a line end.
  void Print(const std::string& text);
  // Replaces the progress line; empty removes it.
  void ShowProgress(const std::string& text);
  bool interactive() const { return interactive_; }

 private:
  std::FILE* out_;
  std::FILE* err_;
  bool interactive_;
  std::mutex mutex_;  // Guards what follows, and the order of output.
  std::string progress_;
};

}  // namespace eidolon::cli
