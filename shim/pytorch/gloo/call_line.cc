#include "shim/pytorch/gloo/call_line.h"

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
  CallLine call;
};

struct Lines {
  std::mutex mutex;            // Guards everything below.
  std::array<Line, 256> kept;  // More than collectives that wait for their turn, as a rule.
  std::size_t next = 0;
};

Lines& TheLines() {
  static Lines* const lines = new Lines;  // Threads may outlive main.
  return *lines;
}

// The core reads frames (notes.cc).
CallLine LineOfThread() {
  using LineFunction = std::size_t (*)(char*, std::size_t);
  static const auto line =
      reinterpret_cast<LineFunction>(dlsym(RTLD_DEFAULT, "eidolon_line_of_thread"));
  if (line == nullptr) return {};
  char text[256];
  return {.text = std::string(text, line(text, sizeof(text))),
          .gathers_objects = TorchRuns("all_gather_object") || TorchRuns("gather_object")};
}

}  // namespace

bool TorchRuns(const char* function) {
  using RunsFunction = int (*)(const char*);
  static const auto runs =
      reinterpret_cast<RunsFunction>(dlsym(RTLD_DEFAULT, "eidolon_torch_runs"));
  return runs != nullptr && runs(function) != 0;
}

void KeepCallLine(const Context* context, std::uint32_t tag) {
  CallLine call = LineOfThread();
  Lines& lines = TheLines();
  const std::lock_guard guard(lines.mutex);
  lines.kept[lines.next] = {.context = context, .tag = tag, .call = std::move(call)};
  lines.next = (lines.next + 1) % lines.kept.size();
}

CallLine CallLineOf(const Context* context, std::uint32_t tag) {
  Lines& lines = TheLines();
  const std::lock_guard guard(lines.mutex);
  for (const Line& line : lines.kept) {
    if (line.context == context && line.tag == tag) return line.call;
  }
  return {};
}

}  // namespace eidolon::shim::gloo
