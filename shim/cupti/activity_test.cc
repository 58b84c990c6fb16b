#include "shim/cupti/activity.h"

#include <gtest/gtest.h>

#include <thread>

namespace eidolon::shim::cupti::activity {
namespace {

constexpr auto kKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

TEST(ActivityTest, PopsWhatTheThreadPushed) {
  std::uint64_t id = 0;

  EXPECT_EQ(PushExternalCorrelationId(kKind, 4), CUPTI_SUCCESS);
  EXPECT_EQ(PushExternalCorrelationId(kKind, 5), CUPTI_SUCCESS);
  EXPECT_EQ(PopExternalCorrelationId(kKind, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 5u);
  EXPECT_EQ(PopExternalCorrelationId(kKind, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(PopExternalCorrelationId(kKind, &id), CUPTI_ERROR_QUEUE_EMPTY);
}

TEST(ActivityTest, KeepsThreadsAndKindsApart) {
  ASSERT_EQ(PushExternalCorrelationId(kKind, 4), CUPTI_SUCCESS);
  CUptiResult of_other_thread = CUPTI_SUCCESS;

  std::thread([&] { of_other_thread = PopExternalCorrelationId(kKind, nullptr); }).join();

  EXPECT_EQ(of_other_thread, CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(PopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, nullptr),
            CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(PopExternalCorrelationId(kKind, nullptr), CUPTI_SUCCESS);
}

TEST(ActivityTest, RefusesUnknownKinds) {
  EXPECT_EQ(PushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(PushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_SIZE, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(ActivityTest, HasNoRecords) {
  std::uint8_t buffer[64] = {};
  CUpti_Activity* record = nullptr;
  std::size_t dropped = 9;

  EXPECT_EQ(GetNextRecord(buffer, sizeof(buffer), &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
}

}  // namespace
}  // namespace eidolon::shim::cupti::activity
