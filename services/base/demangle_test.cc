#include "services/base/demangle.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace eidolon::base {
namespace {

TEST(DemangleTest, GivesNamesAsTheirSourceHasThem) {
  EXPECT_EQ(Demangle("_ZN4gloo7barrierERNS_14BarrierOptionsE"),
            "gloo::barrier(gloo::BarrierOptions&)");
}

TEST(DemangleTest, LeavesOtherNamesAlone) {
  for (const char* name : {"", "ncclAllReduce", "_Z", "_ZN4gloo", "int"}) {
    EXPECT_EQ(Demangle(name), std::nullopt) << name;
  }
}

TEST(DemangleTest, LeavesLongNamesAlone) {
  const auto function = [](std::size_t length) {
    return "_Z" + std::to_string(length) + std::string(length, 'f') + "v";
  };
  EXPECT_TRUE(Demangle(function(1000)).has_value());
  EXPECT_EQ(Demangle(function(kMangledMax)), std::nullopt);
}

// Each type argument is a template of the one before, twice.
std::string Doubling(int times) {
  static constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string symbol = "_Z1fI1AIiE";
  std::string last = "S1_";
  for (int i = 0; i < times; ++i) {
    symbol += "S0_I" + last + last + "E";
    last = std::string("S") + kDigits[static_cast<std::size_t>(i) + 2] + "_";
  }
  return symbol + "EvT_";
}

TEST(DemangleTest, LeavesSymbolsAloneThatStandForNamesWithoutMeasure) {
  const std::optional<std::string> small = Demangle(Doubling(5));
  ASSERT_TRUE(small.has_value());
  EXPECT_EQ(small->size(), 747u);
  const std::string large = Doubling(32);  // 366 bytes for 100 GB.
  EXPECT_LT(large.size(), 400u);
  EXPECT_EQ(Demangle(large), std::nullopt);
}

}  // namespace
}  // namespace eidolon::base
