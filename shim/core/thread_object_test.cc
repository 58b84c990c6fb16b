#include "shim/core/thread_object.h"

#include <gtest/gtest.h>

#include <thread>

namespace eidolon::shim::core {
namespace {

int alive = 0;
int seen_late = -1;

struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int value = 0;
};

Counted* late_object = nullptr;

// Destroyed after the object's owner, which is made later.
struct LateUser {
  ~LateUser() {
    Counted& object = ThreadObject<Counted>();
    seen_late = object.value;
    late_object = &object;
  }
};

TEST(ThreadObjectTest, EachThreadHasOneUntilItEnds) {
  ThreadObject<Counted>().value = 1;
  const int before = alive;
  std::thread([] {
    EXPECT_EQ(ThreadObject<Counted>().value, 0);
    ThreadObject<Counted>().value = 2;
    EXPECT_EQ(ThreadObject<Counted>().value, 2);
  }).join();
  EXPECT_EQ(alive, before);
  EXPECT_EQ(ThreadObject<Counted>().value, 1);
}

TEST(ThreadObjectTest, WhoeverAsksAfterItIsGoneGetsANewOne) {
  std::thread([] {
    static thread_local LateUser late;
    (void)late;
    ThreadObject<Counted>().value = 7;
  }).join();
  EXPECT_EQ(seen_late, 0);
  delete late_object;  // It stays: the thread had nobody left to give it back.
}

}  // namespace
}  // namespace eidolon::shim::core
