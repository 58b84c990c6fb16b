#include "shim/value/compute/trace.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "services/base/text.h"

namespace eidolon::shim::compute {
namespace {

bool IsWanted() {
  static const bool wanted = std::getenv("EIDOLON_TRACE_VALUES") != nullptr;
  return wanted;
}

void Say(const std::string& line) {
  // The program's own streams stay untouched.
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace

void Trace(std::string_view kernel, const interpret::Outcome& outcome) {
  if (!IsWanted()) return;
  static constexpr std::string_view kStops[] = {"ran",
                                                "reads unknown",
                                                "faults at",
                                                "limit",
                                                "deadlocks",
                                                "traps",
                                                "is decided by unknown values"};
  Say(base::StrCat("eidolon values: ", kStops[static_cast<int>(outcome.stop)], " ", outcome.address,
                   " after ", outcome.lane_steps, " thread instructions: ", kernel, "\n"));
}

void Trace(std::string_view kernel, std::string_view refusal) {
  if (IsWanted()) Say(base::StrCat("eidolon values: refused, ", refusal, ": ", kernel, "\n"));
}

void TraceLibrary(std::size_t bytes) {
  if (IsWanted()) Say(base::StrCat("eidolon values: library result: ", bytes, " bytes\n"));
}

void TraceUnknownRead(std::size_t bytes) {
  if (IsWanted()) Say(base::StrCat("eidolon values: unknown bytes read: ", bytes, "\n"));
}

}  // namespace eidolon::shim::compute
