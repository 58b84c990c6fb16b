#include "shim/value/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kBase = 0x200000000000;

std::string ReadText(const Store& store, std::uint64_t address, std::size_t size) {
  std::string text(size, '?');
  store.Read(address, text.data(), size, '.');
  return text;
}

TEST(StoreTest, ReadsBackWhatWasWrittenAcrossPages) {
  Store store;
  std::vector<unsigned char> bytes(10'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  store.Write(kBase + 100, bytes.data(), bytes.size());

  std::vector<unsigned char> back(bytes.size());
  EXPECT_EQ(store.Read(kBase + 100, back.data(), back.size()), 0u);
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(store.IsKnown(kBase + 100, bytes.size()));
  EXPECT_FALSE(store.IsKnown(kBase + 99, bytes.size()));
}

TEST(StoreTest, UnknownBytesReadAsThePolicySays) {
  Store store;
  store.Write(kBase + 2, "ab", 2);
  std::string text(6, '?');

  EXPECT_EQ(store.Read(kBase, text.data(), 6, '.'), 4u);
  EXPECT_EQ(text, "..ab..");
}

TEST(StoreTest, FillsRepeatThePattern) {
  Store store;
  store.Fill(kBase, 0x4241, 2, 6);

  EXPECT_EQ(ReadText(store, kBase, 6), "ABABAB");
}

TEST(StoreTest, CopiesCarryKnownAndUnknownBytes) {
  Store store;
  store.Write(kBase, "ab", 2);
  store.Write(kBase + 3, "d", 1);
  store.Write(kBase + 8192, "????", 4);
  store.Copy(kBase + 8192, kBase, 4);

  EXPECT_EQ(ReadText(store, kBase + 8192, 4), "ab.d");
}

TEST(StoreTest, CopiesAtOddOffsetsKeepEachByte) {
  Store store;
  std::vector<unsigned char> bytes(9000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 13 + 1);
  store.Write(kBase + 17, bytes.data(), 4000);
  store.Write(kBase + 17 + 4500, bytes.data() + 4500, 4500);
  store.NoteKernelPointer(kBase + 17 + 8000);
  store.Copy(kBase + 100'033, kBase + 17, bytes.size());

  std::vector<unsigned char> back(bytes.size());
  EXPECT_EQ(store.Read(kBase + 100'033, back.data(), back.size()), 500u + 1000u);
  std::fill(bytes.begin() + 4000, bytes.begin() + 4500, 0);
  std::fill(bytes.begin() + 8000, bytes.end(), 0);
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(store.IsKnown(kBase + 100'033 + 8000, 1));
  EXPECT_TRUE(store.IsKnown(kBase + 100'033 + 4500, 3500));
}

TEST(StoreTest, CopyingNothingKnownForgetsTheTarget) {
  Store store;
  store.Write(kBase, "abcd", 4);
  store.Copy(kBase + 1, kBase + 65536, 2);

  EXPECT_EQ(ReadText(store, kBase, 4), "a..d");
}

TEST(StoreTest, PagesThatComeAndGoStayWithinTheirOrder) {
  Store store;
  for (int i = 0; i < 10'000; ++i) {
    store.Write(kBase, "x", 1);
    store.Forget(kBase, 1);
  }
  store.Write(kBase, "y", 1);

  EXPECT_EQ(ReadText(store, kBase, 1), "y");
}

TEST(StoreTest, OverlappingCopiesBehaveAsMove) {
  Store store;
  store.Write(kBase, "abcdef", 6);
  store.Copy(kBase + 2, kBase, 4);

  EXPECT_EQ(ReadText(store, kBase, 6), "ababcd");
}

TEST(StoreTest, AKernelPointerMakesItsBufferStaleAndLeavesOthersKnown) {
  Store store;
  store.Write(kBase, "buffer", 6);
  store.Write(kBase + 512, "other", 5);
  store.NoteKernelPointer(kBase);

  EXPECT_FALSE(store.IsKnown(kBase, 6));
  EXPECT_EQ(ReadText(store, kBase, 6), "......");
  EXPECT_TRUE(store.IsKnown(kBase + 512, 5));
}

TEST(StoreTest, StaleBytesReadAsThePolicySaysUntilTheyAreWrittenAgain) {
  Store store;
  store.Write(kBase, "buffer", 6);
  store.MakeStale(kBase + 1, kBase + 5);
  EXPECT_EQ(ReadText(store, kBase, 6), "b....r");

  store.Write(kBase + 2, "UF", 2);
  EXPECT_EQ(ReadText(store, kBase, 6), "b.UF.r");
}

TEST(StoreTest, LargeWritesAreNotKept) {
  Store store;
  store.Write(kBase, "x", 1);
  const std::vector<char> large(Store::kLargestKeptWrite + 1, 'y');
  store.Write(kBase, large.data(), large.size());

  EXPECT_EQ(ReadText(store, kBase, 1), ".");
  EXPECT_EQ(store.kept_bytes(), 0u);
}

TEST(StoreTest, LargeObjectsAreKeptAndCopied) {
  Store store;
  std::vector<unsigned char> object(Store::kLargestKeptWrite + 7, 'y');
  object[0] = 0x80;
  object[1] = 4;
  store.Write(kBase, object.data(), object.size());
  store.Copy(kBase + (1 << 30), kBase, object.size());
  EXPECT_TRUE(store.IsKnown(kBase + (1 << 30), object.size()));

  object.resize(Store::kLargestKeptObject + 1, 'y');
  store.Write(kBase, object.data(), object.size());
  EXPECT_FALSE(store.IsKnown(kBase, 4));
}

TEST(StoreTest, ForgettingAHugeRangeIsCheapAndSparesItsNeighbours) {
  Store store;
  store.Write(kBase - 2, "abcd", 4);
  store.Write(kBase + (std::uint64_t{1} << 36) - 2, "efgh", 4);
  store.Forget(kBase, std::uint64_t{1} << 36);

  EXPECT_EQ(ReadText(store, kBase - 2, 4), "ab..");
  EXPECT_EQ(ReadText(store, kBase + (std::uint64_t{1} << 36) - 2, 4), "..gh");
}

TEST(StoreTest, TheOldestPagesGoWhenFull) {
  Store store;
  const std::vector<char> chunk(Store::kLargestKeptWrite, 'z');
  const std::size_t chunks = Store::kCapacityBytes / chunk.size() + 1;
  for (std::size_t i = 0; i < chunks; ++i) {
    store.Write(kBase + i * chunk.size(), chunk.data(), chunk.size());
  }

  EXPECT_LE(store.kept_bytes(), Store::kCapacityBytes);
  EXPECT_FALSE(store.IsKnown(kBase, 1));
  EXPECT_TRUE(store.IsKnown(kBase + (chunks - 1) * chunk.size(), chunk.size()));
}

}  // namespace
}  // namespace eidolon::shim::value
