#include "shim/value/compute/page_memory.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace eidolon::shim::compute
