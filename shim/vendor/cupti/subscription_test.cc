#include "shim/vendor/cupti/subscription.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

namespace eidolon::shim::cupti {
namespace {

void Ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

TEST(SubscriptionTest, HasOneSubscriberAtATime) {
  CUpti_SubscriberHandle first = nullptr;
  CUpti_SubscriberHandle second = nullptr;

  EXPECT_EQ(subscription::Subscribe(&first, Ignore, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(subscription::Subscribe(&second, Ignore, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(subscription::EnableDomain(1, first, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
  EXPECT_EQ(subscription::Unsubscribe(first), CUPTI_SUCCESS);
  EXPECT_EQ(subscription::EnableAllDomains(1, first), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(subscription::Subscribe(&second, Ignore, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(subscription::Unsubscribe(second), CUPTI_SUCCESS);
}

TEST(SubscriptionTest, NamesWhoSubscribedBefore) {
  CUpti_SubscriberHandle first = nullptr;
  CUpti_SubscriberHandle second = nullptr;
  char name[8] = {};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "the profiler";

  EXPECT_EQ(subscription::SubscribeNamed(&first, Ignore, nullptr, &parameters), CUPTI_SUCCESS);
  parameters.oldSubscriberName = name;
  parameters.oldSubscriberSize = sizeof(name);
  EXPECT_EQ(subscription::SubscribeNamed(&second, Ignore, nullptr, &parameters),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(name, "the pro");
  EXPECT_EQ(subscription::SubscribeNamed(&second, Ignore, nullptr, nullptr),
            CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(subscription::Unsubscribe(first), CUPTI_SUCCESS);
}

TEST(SubscriptionTest, RefusesAnUnknownSubscriber) {
  EXPECT_EQ(subscription::Unsubscribe(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(subscription::EnableCallback(1, nullptr, CUPTI_CB_DOMAIN_DRIVER_API, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(DescriptionTest, TellsVersionAndNames) {
  std::uint32_t version = 0;
  const char* text = nullptr;

  EXPECT_EQ(description::GetVersion(&version), CUPTI_SUCCESS);
  EXPECT_EQ(version, static_cast<std::uint32_t>(CUPTI_API_VERSION));
  EXPECT_EQ(description::GetResultString(CUPTI_ERROR_NOT_SUPPORTED, &text), CUPTI_SUCCESS);
  EXPECT_STREQ(text, "CUPTI_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(description::GetResultString(static_cast<CUptiResult>(555), &text),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(SubscriptionTest, DomainsThatAreSupportedAreThoseThatCanBeEnabled) {
  std::size_t count = 0;
  CUpti_DomainTable domains = nullptr;
  ASSERT_EQ(description::SupportedDomains(&count, &domains), CUPTI_SUCCESS);
  const std::set<CUpti_CallbackDomain> supported(domains, domains + count);
  CUpti_SubscriberHandle subscriber = nullptr;
  ASSERT_EQ(subscription::Subscribe(&subscriber, Ignore, nullptr), CUPTI_SUCCESS);

  for (int at = CUPTI_CB_DOMAIN_INVALID + 1; at < CUPTI_CB_DOMAIN_SIZE; ++at) {
    const auto domain = static_cast<CUpti_CallbackDomain>(at);
    bool is_enabled = false;
    for (CUpti_CallbackId id = 1; id < 1000 && !is_enabled; ++id) {
      is_enabled = subscription::EnableCallback(1, subscriber, domain, id) == CUPTI_SUCCESS;
    }
    EXPECT_EQ(supported.contains(domain), is_enabled) << at;
  }

  EXPECT_EQ(subscription::Unsubscribe(subscriber), CUPTI_SUCCESS);
  EXPECT_EQ(description::SupportedDomains(nullptr, &domains), CUPTI_ERROR_INVALID_PARAMETER);
}

}  // namespace
}  // namespace eidolon::shim::cupti
