#include "services/network/communicator/route_book.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::network::communicator {
namespace {

using collective::Kind;

TEST(RouteBookTest, AsksForTheLinksOfAKeyOnce) {
  RouteBook book;
  int asked = 0;
  const auto make = [&] {
    ++asked;
    return std::vector<flow::LinkUse>{{.link = 7, .bytes_per_second = 100}};
  };

  const auto first = book.Find({.kind = Kind::kAllGather, .bytes = 8}, make);
  EXPECT_EQ(book.Find({.kind = Kind::kAllGather, .bytes = 8}, make), first);
  EXPECT_EQ(asked, 1);
  book.Find({.kind = Kind::kAllGather, .bytes = 8, .image = 1}, make);
  book.Find({.kind = Kind::kAllReduce, .bytes = 8}, make);
  EXPECT_EQ(asked, 3);
  book.Clear();
  book.Find({.kind = Kind::kAllGather, .bytes = 8}, make);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(first->front().link, 7u) << "what was handed out stays";
}

TEST(RouteBookTest, TransfersWithoutLinksAreKeptToo) {
  RouteBook book;
  int asked = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(book.Find({}, [&] { return ++asked, std::vector<flow::LinkUse>(); }), nullptr);
  }
  EXPECT_EQ(asked, 1);
}

TEST(RouteBookTest, HoldsABoundedNumberOfLinks) {
  RouteBook book;
  const std::vector<flow::LinkUse> many(std::size_t{1} << 20);
  int asked = 0;
  const auto ask = [&](std::uint64_t bytes) {
    return book.Find({.bytes = bytes}, [&] { return ++asked, many; });
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
