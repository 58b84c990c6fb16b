#include "services/network/engine/event_queue.h"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "services/base/random.h"
#include "services/base/sim_time.h"

namespace eidolon::network::engine {
namespace {

struct Event {
  base::SimTime at;
  std::uint64_t key;
  auto operator<=>(const Event&) const = default;
};

TEST(EventQueueTest, YieldsEventsOfOneInstantByTheirKeyWhateverTheInsertionOrder) {
  EventQueue<Event> queue;

  queue.Push({{5}, 3});
  queue.Push({{5}, 1});
  queue.Push({{2}, 9});
  queue.Push({{5}, 2});

  EXPECT_EQ(queue.Pop(), (Event{{2}, 9}));
  EXPECT_EQ(queue.Pop(), (Event{{5}, 1}));
  EXPECT_EQ(queue.Pop(), (Event{{5}, 2}));
  EXPECT_EQ(queue.Top(), (Event{{5}, 3}));
  EXPECT_EQ(queue.Size(), 1u);
}

TEST(EventQueueTest, SortsRandomEventsLikeASort) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    EventQueue<Event> queue;
    std::vector<Event> expected;
    for (int i = 0; i < 300; ++i) {
      const Event event{{static_cast<std::int64_t>(random.Below(40))}, random.Next()};
      queue.Push(event);
      expected.push_back(event);
    }

    std::sort(expected.begin(), expected.end());

    for (const Event& event : expected) ASSERT_EQ(queue.Pop(), event) << "seed " << seed;
    EXPECT_TRUE(queue.Empty());
  }
}

}  // namespace
}  // namespace eidolon::network::engine
