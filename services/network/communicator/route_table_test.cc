#include "services/network/communicator/route_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::communicator {
namespace {

using collective::Kind;

TEST(RouteTableTest, AsksForTheLinksOfAKeyOnce) {
  RouteTable table;
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector<flow::LinkUse>{{.link = 7, .bytes_per_second = 100}};
  };

  const auto first = table.Find({.kind = Kind::kAllGather, .bytes = 8}, make);
  EXPECT_EQ(table.Find({.kind = Kind::kAllGather, .bytes = 8}, make), first);
  EXPECT_EQ(asked, 1);
  table.Find({.kind = Kind::kAllGather, .bytes = 8, .image = 1}, make);
  table.Find({.kind = Kind::kAllReduce, .bytes = 8}, make);
  EXPECT_EQ(asked, 3);
  table.Clear();
  table.Find({.kind = Kind::kAllGather, .bytes = 8}, make);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(first->front().link, 7u) << "what was handed out stays";
}

TEST(RouteTableTest, TransfersWithoutLinksAreKeptToo) {
  RouteTable table;
  int asked = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(table.Find({}, [&] { return ++asked, std::vector<flow::LinkUse>(); }), nullptr);
  }
  EXPECT_EQ(asked, 1);
}

TEST(RouteTableTest, HoldsABoundedNumberOfLinks) {
  RouteTable table;
  const std::vector<flow::LinkUse> many(std::size_t{1} << 20);
  int asked = 0;
  const auto ask = [&](std::uint64_t bytes) {
    return table.Find({.bytes = bytes}, [&] { return ++asked, many; });
  };
  const auto first = ask(1);
  ask(2);
  ask(3);
  EXPECT_EQ(first.use_count(), 1) << "it was forgotten";
  ask(3);
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace eidolon::network::communicator
