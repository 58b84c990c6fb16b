#include "services/runtime/signal_waiter.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

namespace eidolon::runtime {
namespace {

TEST(SignalWaiterTest, ReturnsTheSignalThatArrived) {
  SignalWaiter waiter;

  kill(getpid(), SIGTERM);

  EXPECT_EQ(waiter.Wait(), SIGTERM);
}

TEST(SignalWaiterTest, GivesUpAfterTheTimeout) {
  SignalWaiter waiter;

  EXPECT_EQ(waiter.WaitFor(1), std::nullopt);
}

TEST(SignalWaiterTest, StopFromAnotherThreadEndsTheWait) {
  SignalWaiter waiter;

  std::thread stopper([&] { waiter.Stop(); });

  EXPECT_EQ(waiter.Wait(), std::nullopt);
  stopper.join();
}

}  // namespace
}  // namespace eidolon::runtime
