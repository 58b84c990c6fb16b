// CUPTI's callback subscription and what describes CUPTI itself. One subscriber at a time, as in
// the real library; what it is told of is in callbacks.h.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace eidolon::shim::cupti {

namespace subscription {

CUptiResult Subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                      void* user_data);
// Subscribes, and returns the name of an existing subscriber on request.
CUptiResult SubscribeNamed(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
                           void* user_data, CUpti_SubscriberParams* parameters);
CUptiResult Unsubscribe(CUpti_SubscriberHandle subscriber);
CUptiResult EnableCallback(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                           CUpti_CallbackDomain domain, CUpti_CallbackId id);
CUptiResult EnableDomain(std::uint32_t enable, CUpti_SubscriberHandle subscriber,
                         CUpti_CallbackDomain domain);
CUptiResult EnableAllDomains(std::uint32_t enable, CUpti_SubscriberHandle subscriber);
CUptiResult GetCallbackState(std::uint32_t* enabled, CUpti_SubscriberHandle subscriber,
                             CUpti_CallbackDomain domain, CUpti_CallbackId id);

}  // namespace subscription

namespace description {

CUptiResult GetVersion(std::uint32_t* version);
CUptiResult GetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name);
// Those of which something can be enabled (callbacks.h); the table is the shim's and stays.
CUptiResult SupportedDomains(std::size_t* count, CUpti_DomainTable* domains);
CUptiResult GetResultString(CUptiResult result, const char** text);

}  // namespace description

}  // namespace eidolon::shim::cupti
