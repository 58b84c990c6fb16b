// Enter: the one door between a program's call and our handlers. It checks teardown and re-entry,
// charges the call to the rank clock by its class, counts it, stops exceptions, and turns failures
// into the vendor's codes. Rejected: the answer of a call that we refuse on purpose.
//
// Exported functions come from generated rows (shim/api); nobody calls these by hand except
// exports.cc of a library folder.
#pragma once

#include <type_traits>

#include "services/contract/ring/layout.h"
#include "shim/core/call_scope.h"

namespace eidolon::shim::core {

// Runs `body` as the answer of the exported function `name`. `failure` is what the caller gets when
// an exception escapes or the process is being torn down.
template <typename Return, typename Body>
Return Enter(const char* name, ring::CallClass call_class, Return failure, Body&& body,
             const CallArguments* arguments = nullptr) noexcept {
  CallScope scope(name, call_class, arguments);
  if (!scope.allowed()) return failure;
  try {
    const Return result = body();
    scope.NoteResult(result);
    return result;
  } catch (...) {
    scope.ReportEscapedException();
    return failure;
  }
}

// Counts the refusal, tells the agent once per name, and in strict mode ends the process with a
// message.
template <typename Return>
Return Rejected(const char* name, Return not_supported) noexcept {
  CountRefusal(name);
  return not_supported;
}

}  // namespace eidolon::shim::core
