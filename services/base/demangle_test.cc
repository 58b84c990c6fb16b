#include "services/base/demangle.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace eidolon::base
