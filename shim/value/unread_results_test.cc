#include "shim/value/unread_results.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "shim/value/store.h"

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kUnreadBase = 0x200000000000;

// Bytes from kUnreadBase + `at` on.
class Text : public UnreadResult {
 public:
  Text(std::uint64_t at, std::string text, int* computed, bool works = true)
      : at_(at), text_(std::move(text)), computed_(computed), works_(works) {}

  bool Compute(const Give& give) override {
    ++*computed_;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(text_.data());
    if (works_) give(kUnreadBase + at_, bytes, text_.size());
    return works_;
  }

 private:
  const std::uint64_t at_;
  const std::string text_;
  int* const computed_;
  const bool works_;
};

class UnreadResultsTest : public testing::Test {
 protected:
  // A result that may write as many bytes as it does, and some more.
  bool Add(std::uint64_t at, const std::string& text, std::uint64_t more = 0, bool works = true) {
    const std::uint64_t written_end = kUnreadBase + at + text.size();
    return store_.WriteUnread(kUnreadBase + at, written_end + more, written_end,
                              std::make_shared<Text>(at, text, &computed_, works));
  }
  std::string Read(std::uint64_t at, std::size_t size) {
    std::string text(size, '?');
    store_.Read(kUnreadBase + at, text.data(), size, '.');
    return text;
  }

  Store store_;
  int computed_ = 0;
};

TEST_F(UnreadResultsTest, TheFirstReadComputesAllOfAResult) {
  Add(0, "abcdef");
  EXPECT_EQ(computed_, 0);

  EXPECT_EQ(Read(2, 2), "cd");
  EXPECT_EQ(Read(0, 8), "abcdef..");
  EXPECT_EQ(computed_, 1);
}

TEST_F(UnreadResultsTest, ItsBytesAreKnown) {
  Add(0, "abcdef");

  EXPECT_TRUE(store_.HasKnown(kUnreadBase, kUnreadBase + 1));
  EXPECT_TRUE(store_.MayHold(kUnreadBase + 5));
  EXPECT_EQ(store_.KeptEnd(kUnreadBase), kUnreadBase + 6);
  EXPECT_EQ(computed_, 0);
  EXPECT_TRUE(store_.IsKnown(kUnreadBase, 6));
  EXPECT_FALSE(store_.IsKnown(kUnreadBase, 7));
}

TEST_F(UnreadResultsTest, WhatIsWrittenLaterStays) {
  Add(0, "abcdef");
  store_.Write(kUnreadBase + 1, "B", 1);
  store_.Fill(kUnreadBase + 2, 'C', 1, 1);
  store_.Forget(kUnreadBase + 3, 1);
  store_.MakeStale(kUnreadBase + 4, kUnreadBase + 5);
  EXPECT_EQ(Read(1, 2), "BC");
  EXPECT_EQ(computed_, 0);

  EXPECT_EQ(Read(0, 6), "aBC..f");
}

TEST_F(UnreadResultsTest, WhatIsOverwrittenWholeIsNeverComputed) {
  Add(0, "abcdef");
  Add(0, "uvwxyz");
  EXPECT_EQ(Read(0, 6), "uvwxyz");
  EXPECT_EQ(computed_, 1);

  Add(0, "abcdef");
  store_.Forget(kUnreadBase, 6);
  EXPECT_EQ(Read(0, 6), "......");
  EXPECT_EQ(computed_, 1);
}

TEST_F(UnreadResultsTest, BytesThatAResultDoesNotWriteStayWhatTheyWere) {
  store_.Write(kUnreadBase, "12", 2);
  store_.Write(kUnreadBase + 5, "6789", 4);
  Add(2, "abc", 3);

  EXPECT_EQ(Read(6, 1), "7");
  EXPECT_EQ(Read(0, 9), "12abc6789");
}

TEST_F(UnreadResultsTest, AResultOverKnownBytesIsNotKept) {
  store_.Write(kUnreadBase + 5, "X", 1);
  EXPECT_FALSE(Add(0, "abcdef"));
  EXPECT_EQ(Read(0, 6), ".....X");
  EXPECT_TRUE(Add(0, "abcde", 1));
  EXPECT_EQ(Read(0, 6), "abcdeX");
}

TEST_F(UnreadResultsTest, AResultThatIsNotToBeHadIsUnknown) {
  store_.Write(kUnreadBase, "12", 2);
  store_.Write(kUnreadBase + 5, "6789", 4);
  Add(2, "abc", 0, false);

  EXPECT_EQ(Read(0, 9), "12...6789");
  EXPECT_EQ(computed_, 1);
}

TEST_F(UnreadResultsTest, CopiesOfItAreComputed) {
  Add(0, "abcdef");
  store_.Copy(kUnreadBase + 4096, kUnreadBase + 1, 3);

  EXPECT_EQ(Read(4096, 4), "bcd.");
}

TEST_F(UnreadResultsTest, AKernelWithAPointerToItMakesAllBehindStale) {
  Add(0, "abcdef");
  store_.Write(kUnreadBase + 6, "ghi", 3);
  store_.Write(kUnreadBase + 10, "k", 1);
  store_.NoteKernelPointer(kUnreadBase + 2);

  EXPECT_EQ(Read(0, 11), "ab........k");
}

TEST_F(UnreadResultsTest, KernelsThatSeeItsPageFindItsBytesUnknownUntilTheyAsk) {
  Add(0, "abcdef");
  std::byte bytes[Store::kPageBytes];
  Store::PageBits known;
  store_.ReadPage(kUnreadBase / Store::kPageBytes, bytes, known);
  EXPECT_EQ(known[0], 0u);

  EXPECT_TRUE(store_.ComputeUnread(kUnreadBase + 5));
  EXPECT_FALSE(store_.ComputeUnread(kUnreadBase + 5));
  store_.ReadPage(kUnreadBase / Store::kPageBytes, bytes, known);
  EXPECT_EQ(known[0], 0x3fu);
}

TEST_F(UnreadResultsTest, TooManyAreNotKept) {
  for (std::size_t i = 0; i < UnreadResults::kMost; ++i) ASSERT_TRUE(Add(2 * i, "a"));

  EXPECT_FALSE(Add(2 * UnreadResults::kMost, "a"));
  EXPECT_FALSE(store_.IsKnown(kUnreadBase + 2 * UnreadResults::kMost, 1));
}

}  // namespace
}  // namespace eidolon::shim::value
