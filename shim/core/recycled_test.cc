#include "shim/core/recycled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace eidolon::shim::core {
namespace {

struct Thing : Recycled<Thing> {
  std::uint64_t magic = 77;
  std::uint64_t number = 5;
};
struct Small : Recycled<Small> {
  std::uint64_t magic = 78;
};

// The bytes behind a handle, which may be stale: its memory stays ours.
std::uint64_t MagicAt(const void* handle) {
  std::uint64_t magic = 0;
  std::memcpy(&magic, handle, sizeof(magic));
  return magic;
}

TEST(RecycledTest, AStaleHandleShowsNoMagic) {
  auto* thing = new Thing;
  auto* small = new Small;
  const void* const stale_thing = thing;
  const void* const stale_small = small;
  EXPECT_EQ(MagicAt(stale_thing), 77u);

  delete thing;
  delete small;

  EXPECT_EQ(MagicAt(stale_thing), 0u);
  EXPECT_EQ(MagicAt(stale_small), 0u);
}

TEST(RecycledTest, MemoryIsUsedAgainForObjectsOfTheType) {
  const std::vector<Thing*> first = {new Thing, new Thing, new Thing};
  for (Thing* thing : first) delete thing;

  for (std::size_t i = first.size(); i > 0; --i) {
    auto* thing = new Thing;
    EXPECT_EQ(thing, first[i - 1]);
    EXPECT_EQ(thing->number, 5u);
  }
  for (Thing* thing : first) delete thing;
}

TEST(RecycledTest, ThreadsShareTheList) {
  const auto body = [] {
    for (int i = 0; i < 1000; ++i) {
      auto* thing = new Thing;
      EXPECT_EQ(thing->magic, 77u);
      thing->number = 6;
      delete thing;
    }
  };
  std::thread first(body);
  std::thread second(body);
  first.join();
  second.join();
}

}  // namespace
}  // namespace eidolon::shim::core
