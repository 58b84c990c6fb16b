// Bookkeeping around one exported call; used through enter.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "services/contract/ring/layout.h"
#include "shim/core/call_observer.h"

namespace eidolon::shim::core {

// Lives for the length of one exported call. Nested calls of one thread (a handler calling another
// exported function) are charged once.
class CallScope {
 public:
  CallScope(const char* name, ring::CallClass call_class,
            const CallArguments* arguments = nullptr) noexcept;
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

  // False while the process is being torn down: answer with the failure code and touch nothing.
  bool allowed() const noexcept { return allowed_; }
  void ReportEscapedException() const noexcept;
  template <typename Return>
  void NoteResult(const Return& result) noexcept {
    if constexpr (std::is_trivially_copyable_v<Return> && sizeof(Return) <= sizeof(result_)) {
      std::memcpy(&result_, &result, sizeof(result));
    }
  }

 private:
  const char* name_;
  std::uint64_t result_ = 0;
  bool allowed_;
};

// A refused call: counted, told to the agent (kRefusedCall) once per name, fatal in strict mode.
void CountRefusal(const char* name) noexcept;

}  // namespace eidolon::shim::core
