// The numbers and names of calls that CUPTI's records and callbacks carry. Stateless.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <string_view>

namespace eidolon::shim::cupti {

// API to which a call belongs. Calls of math libraries and NCCL have no number of their own: what a
// profiler sees of them is the launches that they make of the runtime.
enum class Api : std::uint8_t { kNone, kRuntime, kDriver, kLibrary };

struct CallbackName {
  Api api = Api::kNone;
  CUpti_CallbackId id = 0;
};

// Of an exported function; kNone for CUPTI's own, and for calls that compiled programs make without
// their author's knowledge. Where the header has several versions of a call, the newest.
CallbackName NameCall(std::string_view function);

// Numbers of the domain's callbacks are below; 0 for what is not a domain.
CUpti_CallbackId CallbackCount(CUpti_CallbackDomain domain);
// Returns whether a subscriber to it is told when it happens. Nothing of the domain of states
// happens: they are failures of CUPTI itself.
bool IsTold(CUpti_CallbackDomain domain, CUpti_CallbackId id);

// Returns the name as cuptiGetCallbackName gives it ("cudaLaunchKernel_v7000", "cuLaunchKernel");
// null for none.
const char* CallbackText(CUpti_CallbackDomain domain, CUpti_CallbackId id);

}  // namespace eidolon::shim::cupti
