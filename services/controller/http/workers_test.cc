#include "services/controller/http/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace eidolon::controller::http {
namespace {

TEST(WorkersTest, ClientsTakeTurnsHoweverManyRequestsEachHas) {
  std::promise<void> go;
  std::vector<std::string> order;
  {
    Workers workers(1);
    workers.Add("first", [&] { go.get_future().wait(); });
    for (int i = 0; i < 3; ++i) workers.Add("a", [&] { order.push_back("a"); });
    for (int i = 0; i < 2; ++i) workers.Add("b", [&] { order.push_back("b"); });
    workers.Add("c", [&] { order.push_back("c"); });
    go.set_value();
  }

  EXPECT_EQ(order, (std::vector<std::string>{"a", "b", "c", "a", "b", "a"}));
}

TEST(WorkersTest, StoppingRunsWhatWasAdded) {
  std::atomic<int> ran = 0;
  Workers workers(2);
  for (int i = 0; i < 100; ++i) workers.Add("a", [&] { ++ran; });

  workers.Stop();

  EXPECT_EQ(ran, 100);
}

}  // namespace
}  // namespace eidolon::controller::http
