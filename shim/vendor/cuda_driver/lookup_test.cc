#include "shim/vendor/cuda_driver/lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include "shim/vendor/cuda_driver/vendor.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace eidolon::shim::cuda_driver {
namespace {

constexpr int kNewest = 99000;

struct Row {
  const char* base;
  int version;
  bool per_thread;
  void* symbol;
};

const Row kRows[] = {
#define LOOKUP(base, version, per_thread, symbol) \
  {#base, version, per_thread, reinterpret_cast<void*>(&symbol)},
#include "shim/vendor/cuda_driver/lookup.inc"
#undef LOOKUP
};

TEST(LookupTest, FindsEveryNameOfTheTypedefHeaderAtItsOwnVersion) {
  for (const Row& row : kRows) {
    const FoundFunction found = FindDriverFunction(row.base, row.version, row.per_thread);

    EXPECT_EQ(found.address, row.symbol) << row.base << " " << row.version;
  }
}

TEST(LookupTest, GivesEveryFunctionAnAddressOfItsOwn) {
  std::set<void*> addresses;
  for (const Row& row : kRows) addresses.insert(row.symbol);

  EXPECT_EQ(addresses.size(), std::size(kRows));
}

TEST(LookupTest, GivesTheNewestVariantThatTheProgramKnows) {
  EXPECT_EQ(FindDriverFunction("cuMemAlloc", kNewest, false).address,
            reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(FindDriverFunction("cuMemAlloc", 2000, false).address,
            reinterpret_cast<void*>(&cuMemAlloc));
}

TEST(LookupTest, PrefersPerThreadVariantsOnlyWhenAsked) {
  EXPECT_EQ(FindDriverFunction("cuLaunchKernel", kNewest, true).address,
            reinterpret_cast<void*>(&cuLaunchKernel_ptsz));
  EXPECT_EQ(FindDriverFunction("cuLaunchKernel", kNewest, false).address,
            reinterpret_cast<void*>(&cuLaunchKernel));
  EXPECT_EQ(FindDriverFunction("cuMemAlloc", kNewest, true).address,
            reinterpret_cast<void*>(&cuMemAlloc_v2));
}

TEST(LookupTest, TellsAnUnknownNameFromOneThatIsTooNew) {
  const FoundFunction unknown = FindDriverFunction("cuNoSuchCall", kNewest, false);
  const FoundFunction newer = FindDriverFunction("cuLaunchKernelEx", 11000, false);

  EXPECT_EQ(unknown.address, nullptr);
  EXPECT_FALSE(unknown.version_too_old);
  EXPECT_EQ(newer.address, nullptr);
  EXPECT_TRUE(newer.version_too_old);
}

TEST(LookupTest, DoesNotTakeSymbolsForNames) {
  EXPECT_EQ(FindDriverFunction("cuMemAlloc_v2", kNewest, false).address, nullptr);
  EXPECT_EQ(FindDriverFunction("", kNewest, false).address, nullptr);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
