#include "shim/value/plausible.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace eidolon::shim::value {
namespace {

constexpr std::uint64_t kAddress = 0x7b0000000200;

class PlausibleTest : public testing::Test {
 protected:
  PlausibleTest() : store_(std::make_unique<Store>()), loss_(InternAuthor("a_loss")) {
    Write(loss_);
  }

  // The author's launch has written there, and nobody knows what.
  void Write(Author author) {
    store_->MakeStale(kAddress, kAddress + 4);
    store_->authors().Note(
        {.author = author, .call = store_->authors().NextCall(author), .begin = kAddress});
  }
  float Read() const {
    float result = -1;
    store_->Read(kAddress, reinterpret_cast<unsigned char*>(&result), sizeof(result));
    return result;
  }

  std::unique_ptr<Store> store_;
  Author loss_;
  Plausible plausible_;
};

TEST_F(PlausibleTest, AResultStandsInMemoryAndIsToldOnce) {
  plausible_.Note(kAddress, loss_, {.value = 2.5});
  EXPECT_FALSE(plausible_.Provide(*store_, kAddress + 4, 4));
  ASSERT_TRUE(plausible_.Provide(*store_, kAddress, 4));
  EXPECT_TRUE(store_->IsKnown(kAddress, 4));
  EXPECT_EQ(Read(), 2.5f);
  const std::vector<Plausible::Use> uses = plausible_.TakeUses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].author, loss_);
  EXPECT_EQ(uses[0].bytes, 4u);
  EXPECT_EQ(uses[0].given, "plausible float32");
  EXPECT_TRUE(plausible_.TakeUses().empty());
  EXPECT_FALSE(plausible_.Provide(*store_, kAddress, 4));
}

TEST_F(PlausibleTest, WhatAnotherKernelHasWrittenSinceStaysUnknown) {
  plausible_.Note(kAddress, loss_, {.value = 2.5});
  Write(InternAuthor("another"));
  EXPECT_FALSE(plausible_.Provide(*store_, kAddress, 4));
  EXPECT_FALSE(store_->IsKnown(kAddress, 4));
  EXPECT_TRUE(plausible_.TakeUses().empty());
}

TEST_F(PlausibleTest, AScalarThatMayHaveBeenWrittenOverStaysWhatItWas) {
  const float before = 3.5;
  store_->Write(kAddress, &before, sizeof(before));
  store_->authors().Note({.author = kByOthers, .begin = kAddress});
  store_->MakeStale(kAddress - 4096, kAddress + 4096);
  ASSERT_FALSE(store_->IsKnown(kAddress, 4));
  ASSERT_TRUE(plausible_.Provide(*store_, kAddress, 4));
  EXPECT_EQ(Read(), 3.5f);
  const std::vector<Plausible::Use> uses = plausible_.TakeUses();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].given, "plausible: as before");
  EXPECT_EQ(uses[0].bytes, 4u);
}

TEST_F(PlausibleTest, DataThatMayHaveBeenWrittenOverIsReadByKernelsUpToAnothersPointer) {
  const std::vector<float> before(2048, 1);
  store_->Write(kAddress, before.data(), 8192);
  store_->authors().Note({.author = kByOthers, .begin = kAddress});
  store_->authors().Note({.author = loss_, .begin = kAddress + 4096});
  store_->MakeStale(kAddress, kAddress + 8192);
  EXPECT_FALSE(plausible_.Provide(*store_, kAddress + 4096, 0));
  ASSERT_TRUE(plausible_.Provide(*store_, kAddress + 8, 0));
  EXPECT_TRUE(store_->IsKnown(kAddress + 8, 4088));
  EXPECT_FALSE(store_->HasKnown(kAddress + 4096, kAddress + 8192));
  EXPECT_FALSE(store_->HasKnown(kAddress, kAddress + 8));
  EXPECT_TRUE(plausible_.TakeUses().empty());  // The host has read nothing.
}

TEST_F(PlausibleTest, TheLastOfAnAuthorsResultsCounts) {
  plausible_.Note(kAddress, loss_, {.value = 2.5});
  Write(loss_);
  plausible_.Note(kAddress, loss_, {.value = 1.5});
  ASSERT_TRUE(plausible_.Provide(*store_, kAddress, 4));
  EXPECT_EQ(Read(), 1.5f);
}

}  // namespace
}  // namespace eidolon::shim::value
