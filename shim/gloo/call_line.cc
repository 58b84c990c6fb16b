#include "shim/gloo/call_line.h"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <utility>

namespace eidolon::shim::gloo {
namespace {

struct Line {
  const Context* context = nullptr;
  std::uint32_t tag = 0;
  std::string text;
};

struct Lines {
  std::mutex mutex;             // Guards everything below.
  std::array<Line, 256> kept;   // More than collectives that wait for their turn, as a rule.
  std::size_t next = 0;
};

Lines& TheLines() {
  static Lines* const lines = new Lines;  // Threads may outlive main.
  return *lines;
}

// The core reads frames (notes.cc).
std::string LineOfThread() {
  using LineFunction = std::size_t (*)(char*, std::size_t);
  static const auto line =
      reinterpret_cast<LineFunction>(dlsym(RTLD_DEFAULT, "eidolon_line_of_thread"));
  char text[256];
  return line == nullptr ? "" : std::string(text, line(text, sizeof(text)));
}

}  // namespace

void KeepCallLine(const Context* context, std::uint32_t tag) {
  std::string text = LineOfThread();
  Lines& lines = TheLines();
  const std::lock_guard guard(lines.mutex);
  lines.kept[lines.next] = {.context = context, .tag = tag, .text = std::move(text)};
  lines.next = (lines.next + 1) % lines.kept.size();
}

std::string CallLineOf(const Context* context, std::uint32_t tag) {
  Lines& lines = TheLines();
  const std::lock_guard guard(lines.mutex);
  for (const Line& line : lines.kept) {
    if (line.context == context && line.tag == tag) return line.text;
  }
  return "";
}

}  // namespace eidolon::shim::gloo
