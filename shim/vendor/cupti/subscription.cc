// Subscribing and enabling are rare, calls are not. So every change ends with Follow, which
// installs the observers of calls and objects when something is wanted and removes them when
// nothing is; a program without a profiler pays nothing. A change that leaves out Follow would
// enable callbacks that never come. Errors have the names of the header's codes as their texts.
#include "shim/vendor/cupti/subscription.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "shim/vendor/cupti/callback_name.h"
#include "shim/vendor/cupti/callbacks.h"
#include "shim/vendor/cupti/resource_watch.h"
#include "shim/vendor/cupti/watch.h"

namespace eidolon::shim::cupti {
namespace {

CUptiResult CheckSubscriber(CUpti_SubscriberHandle subscriber) {
  return Callbacks::Get().IsSubscriber(subscriber) ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

// What is wanted of calls and objects has changed.
void Follow() {
  Watch::Get().FollowCallbacks();
  ResourceWatch::Get().Follow();
}

bool IsDomain(CUpti_CallbackDomain domain) {
  return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE;
}

const char* NameOf(CUptiResult result) {
#define RESULT(name) \
  case name:         \
    return #name;
  switch (static_cast<int>(result)) {
    RESULT(CUPTI_SUCCESS)
    RESULT(CUPTI_ERROR_INVALID_PARAMETER)
    RESULT(CUPTI_ERROR_INVALID_DEVICE)
    RESULT(CUPTI_ERROR_INVALID_CONTEXT)
    RESULT(CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID)
    RESULT(CUPTI_ERROR_INVALID_EVENT_ID)
    RESULT(CUPTI_ERROR_INVALID_EVENT_NAME)
    RESULT(CUPTI_ERROR_INVALID_OPERATION)
    RESULT(CUPTI_ERROR_OUT_OF_MEMORY)
    RESULT(CUPTI_ERROR_HARDWARE)
    RESULT(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT)
    RESULT(CUPTI_ERROR_API_NOT_IMPLEMENTED)
    RESULT(CUPTI_ERROR_MAX_LIMIT_REACHED)
    RESULT(CUPTI_ERROR_NOT_READY)
    RESULT(CUPTI_ERROR_NOT_COMPATIBLE)
    RESULT(CUPTI_ERROR_NOT_INITIALIZED)
    RESULT(CUPTI_ERROR_INVALID_METRIC_ID)
    RESULT(CUPTI_ERROR_INVALID_METRIC_NAME)
    RESULT(CUPTI_ERROR_QUEUE_EMPTY)
    RESULT(CUPTI_ERROR_INVALID_HANDLE)
    RESULT(CUPTI_ERROR_INVALID_STREAM)
    RESULT(CUPTI_ERROR_INVALID_KIND)
    RESULT(CUPTI_ERROR_INVALID_EVENT_VALUE)
    RESULT(CUPTI_ERROR_DISABLED)
    RESULT(CUPTI_ERROR_INVALID_MODULE)
    RESULT(CUPTI_ERROR_INVALID_METRIC_VALUE)
    RESULT(CUPTI_ERROR_HARDWARE_BUSY)
    RESULT(CUPTI_ERROR_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE)
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES)
    RESULT(CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS)
    RESULT(CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE)
    RESULT(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    RESULT(CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED)
    RESULT(CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE)
    RESULT(CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
    RESULT(CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED)
    RESULT(CUPTI_ERROR_INVALID_CHIP_NAME)
    RESULT(CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS)
    RESULT(CUPTI_ERROR_UNKNOWN)
    default:
      return nullptr;
  }
#undef RESULT
}

}  // namespace

namespace subscription {

CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function,
                      void* user_data) {
  if (subscriber == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (!Callbacks::Get().Subscribe(function, user_data)) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  *subscriber = Callbacks::Get().handle();
  return CUPTI_SUCCESS;
}

CUptiResult SubscribeNamed(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc function,
                           void* user_data, CUpti_SubscriberParams* parameters) {
  if (parameters != nullptr && parameters->structSize == 0) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult result = Subscribe(subscriber, function, user_data);
  if (parameters == nullptr) return result;
  if (result == CUPTI_SUCCESS) {
    Callbacks::Get().SetName(parameters->subscriberName);
  } else if (parameters->oldSubscriberName != nullptr && parameters->oldSubscriberSize > 0) {
    const std::string name = Callbacks::Get().name();
    const std::size_t bytes = std::min(name.size(), parameters->oldSubscriberSize - 1);
    std::memcpy(parameters->oldSubscriberName, name.data(), bytes);
    parameters->oldSubscriberName[bytes] = '\0';
  }
  return result;
}

CUptiResult Unsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!Callbacks::Get().Unsubscribe(subscriber)) return CUPTI_ERROR_INVALID_PARAMETER;
  Follow();
  return CUPTI_SUCCESS;
}

CUptiResult EnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                           CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const CUptiResult known = CheckSubscriber(subscriber);
  if (known != CUPTI_SUCCESS) return known;
  const CUptiResult result = Callbacks::Get().Enable(domain, id, enable != 0);
  Follow();
  return result;
}

CUptiResult EnableDomain(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                         CUpti_CallbackDomain domain) {
  const CUptiResult known = CheckSubscriber(subscriber);
  if (known != CUPTI_SUCCESS) return known;
  if (!IsDomain(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  Callbacks::Get().EnableDomain(domain, enable != 0);
  Follow();
  return CUPTI_SUCCESS;
}

CUptiResult EnableAllDomains(std::uint32_t enable, CUpti_SubscriberHandle subscriber) {
  for (int domain = CUPTI_CB_DOMAIN_INVALID + 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    const CUptiResult result =
        EnableDomain(enable, subscriber, static_cast<CUpti_CallbackDomain>(domain));
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

CUptiResult GetCallbackState(std::uint32_t* enabled, CUpti_SubscriberHandle subscriber,
                             CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (enabled == nullptr || !IsDomain(domain)) return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult known = CheckSubscriber(subscriber);
  if (known == CUPTI_SUCCESS) *enabled = Callbacks::Get().IsEnabled(domain, id) ? 1 : 0;
  return known;
}

}  // namespace subscription

namespace description {

CUptiResult GetVersion(std::uint32_t* version) {
  if (version == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult GetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const char* text = CallbackText(domain, id);
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *name = text;
  return CUPTI_SUCCESS;
}

CUptiResult SupportedDomains(std::size_t* count, CUpti_DomainTable* domains) {
  // A caller gets it to read, through a pointer that has no const.
  static std::array<CUpti_CallbackDomain, 6> known = {
      CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
      CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE};
  if (count == nullptr || domains == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *count = known.size();
  *domains = known.data();
  return CUPTI_SUCCESS;
}

CUptiResult GetResultString(CUptiResult result, const char** text) {
  if (text == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  const char* name = NameOf(result);
  if (name == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  *text = name;
  return CUPTI_SUCCESS;
}

}  // namespace description

}  // namespace eidolon::shim::cupti
