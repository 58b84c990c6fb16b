// Bookkeeping around one exported call; used through enter.h.
#pragma once

#include <cstdint>

#include "services/ring/layout.h"

namespace eidolon::shim::core {

// Lives for the length of one exported call. Nested calls of one thread (a handler calling another
// exported function) are charged once.
class CallScope {
 public:
  CallScope(const char* name, ring::CallClass call_class) noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // False while the process is being torn down: answer with the failure code and touch nothing.
  bool allowed() const noexcept { return allowed_; }
  void ReportEscapedException() const noexcept;

 private:
  const char* name_;
  bool allowed_;
};

// A refused call: counted, told to the agent (kRefusedCall) once per name, fatal in strict mode.
void CountRefusal(const char* name) noexcept;

}  // namespace eidolon::shim::core
