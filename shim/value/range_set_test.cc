#include "shim/value/range_set.h"

#include <gtest/gtest.h>

#include <vector>

#include "services/base/random.h"

namespace eidolon::shim::value {
namespace {

TEST(RangeSetTest, AgreesWithAListOfBits) {
  constexpr std::uint64_t kSize = 200;
  base::Random random(7);
  RangeSet set;
  std::vector<bool> bits(kSize);
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t begin = random.Below(kSize);
    const std::uint64_t end = begin + random.Below(kSize - begin + 1);
    const bool add = random.Below(2) == 0;
    add ? set.Add(begin, end) : set.Remove(begin, end);
    for (std::uint64_t i = begin; i < end; ++i) bits[i] = add;

    std::vector<bool> seen(kSize);
    set.ForEach(0, kSize, [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t i = from; i < to; ++i) seen[i] = true;
    });
    ASSERT_EQ(seen, bits) << "step " << step;
    const std::uint64_t at = random.Below(kSize);
    std::uint64_t run_end = at;
    while (run_end < kSize && bits[run_end]) ++run_end;
    ASSERT_EQ(set.EndOf(at), bits[at] ? run_end : 0);
    ASSERT_EQ(set.Contains(at, at + 1), bits[at]);
    if (run_end > at) {
      ASSERT_TRUE(set.Contains(at, run_end));
    }
    ASSERT_FALSE(set.Contains(at, run_end + 1));
  }
}

}  // namespace
}  // namespace eidolon::shim::value
