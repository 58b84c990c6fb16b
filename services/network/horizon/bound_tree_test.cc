#include "services/network/horizon/bound_tree.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "services/base/random.h"

namespace eidolon::network::horizon {
namespace {

using base::SimTime;

TEST(BoundTreeTest, AnEmptyOneHoldsNothingBack) {
  BoundTree tree;
  EXPECT_EQ(tree.Least(), SimTime::Max());

  const BoundTree::Place place = tree.Add({5});
  EXPECT_EQ(tree.Least(), SimTime{5});
  tree.Remove(place);

  EXPECT_EQ(tree.Least(), SimTime::Max());
}

TEST(BoundTreeTest, EqualsASearchThroughAllOfThem) {
  base::Random random(20261121);
  BoundTree tree;
  std::map<BoundTree::Place, SimTime> known;
  for (int step = 0; step < 20'000; ++step) {
    const SimTime time{static_cast<std::int64_t>(random.Below(1000))};
    const std::uint64_t what = random.Below(known.size() < 300 ? 3 : 4);
    if (known.empty() || what == 0) {
      const auto place = tree.Add(time);
      ASSERT_TRUE(known.emplace(place, time).second) << "a place given twice";
    } else {
      auto at = std::next(known.begin(), static_cast<std::ptrdiff_t>(random.Below(known.size())));
      if (what == 3) {
        tree.Remove(at->first);
        known.erase(at);
      } else {
        tree.Set(at->first, time);
        at->second = time;
      }
    }
    SimTime least = SimTime::Max();
    for (const auto& [place, bound] : known) least = std::min(least, bound);
    ASSERT_EQ(tree.Least(), least) << "step " << step;
  }
}

}  // namespace
}  // namespace eidolon::network::horizon
