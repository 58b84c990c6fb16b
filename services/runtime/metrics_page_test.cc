#include "services/runtime/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <string>

#include "services/base/text.h"

namespace eidolon::runtime {
namespace {

using ::testing::HasSubstr;

TEST(MetricsPageTest, PrintsWhatTheRegistryHolds) {
  MetricsPage page;
  auto& family = prometheus::BuildCounter()
                     .Name("eidolon_test_things_total")
                     .Help("Things seen.")
                     .Register(page.registry());
  family.Add({{"kind", "small"}}).Increment(3);

  EXPECT_THAT(page.Text(), HasSubstr("eidolon_test_things_total{kind=\"small\"} 3"));
}

TEST(MetricsPageTest, ServesOnAFreePortAndNamesAnAddressInUse) {
  MetricsPage first;
  const auto port = first.Expose("127.0.0.1:0");
  ASSERT_TRUE(port.has_value()) << port.error().message;
  MetricsPage second;

  const auto address = base::StrCat("127.0.0.1:", *port);
  const auto taken = second.Expose(address);

  ASSERT_FALSE(taken.has_value());
  EXPECT_THAT(taken.error().message, HasSubstr(address));
}

}  // namespace
}  // namespace eidolon::runtime
