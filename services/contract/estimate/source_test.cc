#include "services/contract/estimate/source.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace eidolon::estimate {
namespace {

TEST(SourceTest, EverySourceHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int i = 0; i < kSources; ++i) names.insert(Name(static_cast<Source>(i)));

  EXPECT_EQ(names, (std::set<std::string_view>{"assumed", "interpolated", "measured", "modelled"}));
}

}  // namespace
}  // namespace eidolon::estimate
