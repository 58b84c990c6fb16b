#include "shim/value/compute/piece_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

namespace eidolon::shim::compute {
namespace {

TEST(PiecePoolTest, PiecesInUseDoNotOverlap) {
  PiecePool pool;
  std::vector<std::pair<unsigned char*, std::size_t>> pieces;
  for (std::size_t i = 0; i < 3000; ++i) {
    const std::size_t bytes = i * 37 % 6000;  // Also some that are the allocator's.
    auto* const piece = static_cast<unsigned char*>(pool.Take(bytes));
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 16, 0u);
    std::memset(piece, static_cast<int>(i % 251), bytes);
    pieces.emplace_back(piece, bytes);
  }

  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto [piece, bytes] = pieces[i];
    for (std::size_t at = 0; at < bytes; ++at) ASSERT_EQ(piece[at], i % 251);
    pool.Give(piece);
  }
}

TEST(PiecePoolTest, WhatCameBackIsUsedAgain) {
  PiecePool pool;
  std::set<void*> first;
  for (int i = 0; i < 100; ++i) first.insert(pool.Take(200));
  for (void* const piece : first) pool.Give(piece);
  std::set<void*> second;
  for (int i = 0; i < 100; ++i) second.insert(pool.Take(199));

  EXPECT_EQ(second, first);
  for (void* const piece : second) pool.Give(piece);
}

}  // namespace
}  // namespace eidolon::shim::compute
