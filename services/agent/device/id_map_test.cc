#include "services/agent/device/id_map.h"

#include <gtest/gtest.h>

#include <map>

#include "services/base/random.h"

namespace eidolon::agent::device {
namespace {

TEST(IdMapTest, AgreesWithAnOrderedMapOverRandomInsertsAndErases) {
  base::Random random(7);
  IdMap<int> map;
  std::map<std::uint64_t, int> expected;
  for (int step = 0; step < 20'000; ++step) {
    const std::uint64_t key = random.Below(500);
    if (random.Below(2) == 0) {
      EXPECT_EQ(map.Erase(key), expected.erase(key) == 1) << "step " << step;
    } else if (expected.emplace(key, step).second) {
      map.Insert(key, step);
    }
    ASSERT_EQ(map.size(), expected.size());
  }
  for (std::uint64_t key = 0; key < 500; ++key) {
    const auto found = expected.find(key);
    const int* value = map.Find(key);
    ASSERT_EQ(value != nullptr, found != expected.end()) << key;
    if (value != nullptr) {
      EXPECT_EQ(*value, found->second);
    }
  }
}

TEST(IdMapTest, FindsNothingInAnEmptyMap) {
  IdMap<int> map;

  EXPECT_EQ(map.Find(1), nullptr);
  EXPECT_FALSE(map.Erase(1));
}

}  // namespace
}  // namespace eidolon::agent::device
