#include "shim/value/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kStoreBase = 0x200000000000;

std::string ReadText(const Store& store, std::uint64_t address, std::size_t size) {
  std::string text(size, '?');
  store.Read(address, text.data(), size, '.');
  return text;
}

TEST(StoreTest, ReadsBackWhatWasWrittenAcrossPages) {
  Store store;
  std::vector<unsigned char> bytes(10'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 7);
  store.Write(kStoreBase + 100, bytes.data(), bytes.size());

  std::vector<unsigned char> back(bytes.size());
  EXPECT_EQ(store.Read(kStoreBase + 100, back.data(), back.size()), 0u);
  EXPECT_EQ(back, bytes);
  EXPECT_TRUE(store.IsKnown(kStoreBase + 100, bytes.size()));
  EXPECT_FALSE(store.IsKnown(kStoreBase + 99, bytes.size()));
}

TEST(StoreTest, UnknownBytesReadAsThePolicySays) {
  Store store;
  store.Write(kStoreBase + 2, "ab", 2);
  std::string text(6, '?');

  EXPECT_EQ(store.Read(kStoreBase, text.data(), 6, '.'), 4u);
  EXPECT_EQ(text, "..ab..");
}

TEST(StoreTest, FillsRepeatThePattern) {
  Store store;
  store.Fill(kStoreBase, 0x4241, 2, 6);

  EXPECT_EQ(ReadText(store, kStoreBase, 6), "ABABAB");
}

TEST(StoreTest, CopiesCarryKnownAndUnknownBytes) {
  Store store;
  store.Write(kStoreBase, "ab", 2);
  store.Write(kStoreBase + 3, "d", 1);
  store.Write(kStoreBase + 8192, "????", 4);
  store.Copy(kStoreBase + 8192, kStoreBase, 4);

  EXPECT_EQ(ReadText(store, kStoreBase + 8192, 4), "ab.d");
}

TEST(StoreTest, CopiesAtOddOffsetsKeepEachByte) {
  Store store;
  std::vector<unsigned char> bytes(9000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * 13 + 1);
  store.Write(kStoreBase + 17, bytes.data(), 4000);
  store.Write(kStoreBase + 17 + 4500, bytes.data() + 4500, 4500);
  store.NoteKernelPointer(kStoreBase + 17 + 8000);
  store.Copy(kStoreBase + 100'033, kStoreBase + 17, bytes.size());

  std::vector<unsigned char> back(bytes.size());
  EXPECT_EQ(store.Read(kStoreBase + 100'033, back.data(), back.size()), 500u + 1000u);
  std::fill(bytes.begin() + 4000, bytes.begin() + 4500, 0);
  std::fill(bytes.begin() + 8000, bytes.end(), 0);
  EXPECT_EQ(back, bytes);
  EXPECT_FALSE(store.IsKnown(kStoreBase + 100'033 + 8000, 1));
  EXPECT_TRUE(store.IsKnown(kStoreBase + 100'033 + 4500, 3500));
}

TEST(StoreTest, CopyingNothingKnownForgetsTheTarget) {
  Store store;
  store.Write(kStoreBase, "abcd", 4);
  store.Copy(kStoreBase + 1, kStoreBase + 65536, 2);

  EXPECT_EQ(ReadText(store, kStoreBase, 4), "a..d");
}

TEST(StoreTest, PagesThatComeAndGoStayWithinTheirOrder) {
  Store store;
  for (int i = 0; i < 10'000; ++i) {
    store.Write(kStoreBase, "x", 1);
    store.Forget(kStoreBase, 1);
  }
  store.Write(kStoreBase, "y", 1);

  EXPECT_EQ(ReadText(store, kStoreBase, 1), "y");
}

TEST(StoreTest, OverlappingCopiesBehaveAsMove) {
  Store store;
  store.Write(kStoreBase, "abcdef", 6);
  store.Copy(kStoreBase + 2, kStoreBase, 4);

  EXPECT_EQ(ReadText(store, kStoreBase, 6), "ababcd");
}

TEST(StoreTest, AKernelPointerMakesItsBufferStaleAndLeavesOthersKnown) {
  Store store;
  store.Write(kStoreBase, "buffer", 6);
  store.Write(kStoreBase + 512, "other", 5);
  store.NoteKernelPointer(kStoreBase);

  EXPECT_FALSE(store.IsKnown(kStoreBase, 6));
  EXPECT_EQ(ReadText(store, kStoreBase, 6), "......");
  EXPECT_TRUE(store.IsKnown(kStoreBase + 512, 5));
}

TEST(StoreTest, StaleBytesReadAsThePolicySaysUntilTheyAreWrittenAgain) {
  Store store;
  store.Write(kStoreBase, "buffer", 6);
  store.MakeStale(kStoreBase + 1, kStoreBase + 5);
  EXPECT_EQ(ReadText(store, kStoreBase, 6), "b....r");

  store.Write(kStoreBase + 2, "UF", 2);
  EXPECT_EQ(ReadText(store, kStoreBase, 6), "b.UF.r");
}

TEST(StoreTest, LargeWritesAreNotKept) {
  Store store;
  store.Write(kStoreBase, "x", 1);
  const std::vector<char> large(Store::kLargestKeptWrite + 1, 'y');
  store.Write(kStoreBase, large.data(), large.size());

  EXPECT_EQ(ReadText(store, kStoreBase, 1), ".");
  EXPECT_EQ(store.kept_bytes(), 0u);
}

TEST(StoreTest, LargeObjectsAreKeptAndCopied) {
  Store store;
  std::vector<unsigned char> object(Store::kLargestKeptWrite + 7, 'y');
  object[0] = 0x80;
  object[1] = 4;
  store.Write(kStoreBase, object.data(), object.size());
  store.Copy(kStoreBase + (1 << 30), kStoreBase, object.size());
  EXPECT_TRUE(store.IsKnown(kStoreBase + (1 << 30), object.size()));

  object.resize(Store::kLargestKeptObject + 1, 'y');
  store.Write(kStoreBase, object.data(), object.size());
  EXPECT_FALSE(store.IsKnown(kStoreBase, 4));
}

TEST(StoreTest, ForgettingAHugeRangeIsCheapAndSparesItsNeighbours) {
  Store store;
  store.Write(kStoreBase - 2, "abcd", 4);
  store.Write(kStoreBase + (std::uint64_t{1} << 36) - 2, "efgh", 4);
  store.Forget(kStoreBase, std::uint64_t{1} << 36);

  EXPECT_EQ(ReadText(store, kStoreBase - 2, 4), "ab..");
  EXPECT_EQ(ReadText(store, kStoreBase + (std::uint64_t{1} << 36) - 2, 4), "..gh");
}

TEST(StoreTest, TheOldestPagesGoWhenFull) {
  Store store;
  const std::vector<char> chunk(Store::kLargestKeptWrite, 'z');
  const std::size_t chunks = Store::kCapacityBytes / chunk.size() + 1;
  for (std::size_t i = 0; i < chunks; ++i) {
    store.Write(kStoreBase + i * chunk.size(), chunk.data(), chunk.size());
  }

  EXPECT_LE(store.kept_bytes(), Store::kCapacityBytes);
  EXPECT_FALSE(store.IsKnown(kStoreBase, 1));
  EXPECT_TRUE(store.IsKnown(kStoreBase + (chunks - 1) * chunk.size(), chunk.size()));
}

}  // namespace
}  // namespace eidolon::shim::value
