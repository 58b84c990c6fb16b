#include "shim/value/compute/page_memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace eidolon::shim::compute {
namespace {

using interpret::kPageBytes;
using interpret::Page;

constexpr std::uint64_t kPageBuffer = 0x6b0100000000;
constexpr std::uint64_t kFirst = kPageBuffer / kPageBytes;
constexpr Arena kPageArena{
    .holds = [](std::uint64_t a) { return a - kPageBuffer < (std::uint64_t{1} << 24); },
    .find_buffer = [](std::uint64_t) -> std::optional<Arena::Range> { return std::nullopt; }};

void Put(Page& page, std::size_t at, std::byte value) {
  page.bytes[at] = value;
  page.written[at / 64] |= std::uint64_t{1} << at % 64;
}

TEST(PageMemoryTest, GivesAPageAgainHoweverManyThereAre) {
  value::Store store;
  PageStock stock;
  PageMemory memory(store, kPageArena, stock);
  std::vector<Page*> pages;
  for (std::uint64_t i = 0; i < 100; ++i) {
    pages.push_back(memory.FindPage(kFirst + i));
    for (std::uint64_t j = 0; j <= i; ++j) ASSERT_EQ(memory.FindPage(kFirst + j), pages[j]);
  }

  EXPECT_EQ(memory.FindPage(1), nullptr);
}

TEST(PageMemoryTest, PutsWhatWasWrittenIntoTheStore) {
  value::Store store;
  PageStock stock;
  PageMemory memory(store, kPageArena, stock);
  for (std::uint64_t i = 20; i-- > 0;) {
    Put(*memory.FindPage(kFirst + i), i, static_cast<std::byte>(i + 1));
  }

  memory.Commit(store);

  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::uint64_t address = kPageBuffer + i * kPageBytes + i;
    unsigned char value = 0;
    EXPECT_EQ(store.Read(address, &value, 1), 0u);
    EXPECT_EQ(value, i + 1);
    EXPECT_FALSE(store.IsKnown(address + 1, 1));
  }
}

TEST(PageMemoryTest, PagesThatAreUsedAgainHoldNothingOfBefore) {
  value::Store store;
  PageStock stock;
  {
    PageMemory memory(store, kPageArena, stock);
    Page& page = *memory.FindPage(kFirst);
    Put(page, 7, std::byte{1});
    page.known[0] = page.read[0] = ~std::uint64_t{0};
  }
  store.Fill(kPageBuffer + 60, 2, 1, 70);

  PageMemory memory(store, kPageArena, stock);
  const Page& page = *memory.FindPage(kFirst);

  EXPECT_EQ(page.known[0], std::uint64_t{0xf} << 60);
  EXPECT_EQ(page.known[1], ~std::uint64_t{0});
  EXPECT_EQ(page.known[2], 0x3u);
  EXPECT_EQ(page.read[0], 0u);
  EXPECT_TRUE(memory.Written().empty());
  EXPECT_EQ(page.bytes[7], std::byte{0});
  EXPECT_EQ(page.bytes[129], std::byte{2});
}

alignas(kPageBytes) std::array<unsigned char, 2 * kPageBytes> host_bytes{};

// The host's bytes from 256 on, up to 256 before the end.
constexpr Arena kArenaWithHost{
    .holds = kPageArena.holds,
    .find_buffer = kPageArena.find_buffer,
    .find_host = [](std::uint64_t address) -> std::optional<Arena::Range> {
      const auto begin = reinterpret_cast<std::uint64_t>(host_bytes.data()) + 256;
      const std::uint64_t end = begin + host_bytes.size() - 512;
      if (address < begin || address >= end) return std::nullopt;
      return Arena::Range(begin, end);
    }};

TEST(PageMemoryTest, MemoryOfTheHostIsKnownAsItIsNow) {
  value::Store store;
  PageStock stock;
  const auto number = reinterpret_cast<std::uint64_t>(host_bytes.data()) / kPageBytes;
  EXPECT_EQ(PageMemory(store, kPageArena, stock).FindPage(number), nullptr);
  for (const int value : {3, 4}) {
    host_bytes[300] = static_cast<unsigned char>(value);
    PageMemory memory(store, kArenaWithHost, stock);
    EXPECT_FALSE(memory.reaches_host());
    Page* const page = memory.FindPage(number);
    ASSERT_NE(page, nullptr);
    EXPECT_TRUE(memory.reaches_host());
    EXPECT_EQ(page->bytes[300], static_cast<std::byte>(value));
    EXPECT_EQ(page->known[3], 0u);  // Before the range.
    EXPECT_EQ(page->known[4], ~std::uint64_t{0});
    EXPECT_EQ(memory.FindPage(number + 1)->known[59], ~std::uint64_t{0});
    EXPECT_EQ(memory.FindPage(number + 1)->known[60], 0u);
    EXPECT_EQ(memory.FindPage(number + 2), nullptr);
  }
}

TEST(PageMemoryTest, WhatIsWrittenToTheHostStandsThereAndUnknownBytesDoNot) {
  value::Store store;
  PageStock stock;
  PageMemory memory(store, kArenaWithHost, stock);
  host_bytes[400] = host_bytes[401] = 9;
  const auto address = reinterpret_cast<std::uint64_t>(host_bytes.data());
  Page& page = *memory.FindPage(address / kPageBytes);
  Put(page, 400, std::byte{5});
  Put(page, 401, std::byte{6});
  page.known[401 / 64] &= ~(std::uint64_t{1} << 401 % 64);

  memory.CommitInPart(value::kNobody, store);
  EXPECT_EQ(host_bytes[400], 5);
  EXPECT_EQ(host_bytes[401], 9);
  EXPECT_EQ(store.kept_bytes(), 0u);
  memory.Commit(store);
  EXPECT_EQ(host_bytes[401], 6);
}

}  // namespace
}  // namespace eidolon::shim::compute
