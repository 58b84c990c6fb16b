// CHECK: an invariant of ours is broken, so the process ends, in release builds too. Never for
// input.
#pragma once

namespace eidolon::base {

// Prints "CHECK failed" with place and condition to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);

}  // namespace eidolon::base

#define CHECK(condition)                               \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::eidolon::base::CheckFailed(__FILE__, __LINE__, #condition))
