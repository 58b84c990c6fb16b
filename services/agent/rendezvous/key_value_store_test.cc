#include "services/agent/rendezvous/key_value_store.h"

#include <gtest/gtest.h>

#include <vector>

namespace eidolon::agent::rendezvous {
namespace {

TEST(KeyValueStoreTest, KeepsWhatWasSetLast) {
  KeyValueStore store;
  EXPECT_EQ(store.Find("a"), nullptr);
  store.Set("a", "1");
  store.Set("a", "2");
  store.Append("a", "3");

  ASSERT_NE(store.Find("a"), nullptr);
  EXPECT_EQ(*store.Find("a"), "23");
  EXPECT_TRUE(store.Delete("a"));
  EXPECT_FALSE(store.Delete("a"));
  EXPECT_EQ(store.size(), 0u);
}

TEST(KeyValueStoreTest, AddsToNumbersInText) {
  KeyValueStore store;
  EXPECT_EQ(store.Add("n", 3), 3);
  EXPECT_EQ(store.Add("n", -5), -2);
  EXPECT_EQ(*store.Find("n"), "-2");
  store.Set("n", "text");
  EXPECT_EQ(store.Add("n", 7), 7);
}

TEST(KeyValueStoreTest, ComparesAsTcpStoreDoes) {
  KeyValueStore store;
  EXPECT_EQ(store.CompareSet("k", "expected", "new"), "expected") << "there is none";
  EXPECT_EQ(store.Find("k"), nullptr);
  EXPECT_EQ(store.CompareSet("k", "", "first"), "first");
  EXPECT_EQ(store.CompareSet("k", "other", "second"), "first");
  EXPECT_EQ(store.CompareSet("k", "first", "second"), "second");
}

TEST(KeyValueStoreTest, QueuesKeepTheOrder) {
  KeyValueStore store;
  EXPECT_EQ(store.Pop("q"), std::nullopt);
  store.Push("q", "1");
  store.Push("q", "2");
  EXPECT_EQ(store.QueueLength("q"), 2u);
  EXPECT_TRUE(store.HasAll(std::vector<std::string>{"q"}));
  EXPECT_EQ(store.Pop("q"), "1");
  EXPECT_EQ(store.Pop("q"), "2");
  EXPECT_FALSE(store.HasAll(std::vector<std::string>{"q"}));
}

TEST(KeyValueStoreTest, CountsWhatItKeeps) {
  KeyValueStore store;
  store.Set("ab", "123");
  store.Set("ab", "1");
  store.Append("ab", "23456");
  EXPECT_EQ(store.bytes(), 8u);
  store.Add("n", 99);
  store.Add("n", 1);
  EXPECT_EQ(store.bytes(), 12u);
  store.CompareSet("c", "", "x");
  store.CompareSet("c", "x", "yz");
  store.CompareSet("c", "x", "not set");
  EXPECT_EQ(store.bytes(), 15u);
  store.Push("q", "1");
  store.Push("q", "2");
  EXPECT_EQ(store.entries(), 5u);
  EXPECT_EQ(store.bytes(), 19u);

  store.Pop("q");
  store.Pop("q");
  for (const char* key : {"ab", "n", "c", "none"}) store.Delete(key);
  EXPECT_EQ(store.entries(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

}  // namespace
}  // namespace eidolon::agent::rendezvous
