#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shim/value/store.h"
#include "shim/vendor/library/element_type.h"
#include "shim/vendor/library/opaque.h"
#include "shim/vendor/library/submitted_work.h"
#include "shim/vendor/library/work.h"

namespace eidolon::shim::library {
namespace {

struct Thing : Opaque<Thing> {
  static constexpr std::uint64_t kMagic = 1;
};
struct Other : Opaque<Other> {
  static constexpr std::uint64_t kMagic = 2;
};

TEST(LibraryTest, KnowsTheWidthOfEveryElementType) {
  EXPECT_EQ(BytesOf(CUDA_R_16BF, 3), 6u);
  EXPECT_EQ(BytesOf(CUDA_R_4F_E2M1, 3), 2u);
  EXPECT_EQ(BytesOf(CUDA_C_64F, 1), 16u);
  EXPECT_EQ(BitsOf(9999), 0u);
  EXPECT_EQ(FlopScale(kTypeOf<cuComplex>), 4u);
}

TEST(LibraryTest, RefusesAHandleOfAnotherKind) {
  void* handle = nullptr;
  Thing* thing = Thing::Make(&handle);

  EXPECT_EQ(Thing::Find(handle), thing);
  EXPECT_EQ(Other::Find(handle), nullptr);
  EXPECT_EQ(Thing::Find(static_cast<void*>(nullptr)), nullptr);
  EXPECT_TRUE(Thing::Destroy(handle));
}

TEST(LibraryTest, ACallBecomesNamedWorkWithItsNumbers) {
  core::FakeAgent& agent = StartAgent();

  ASSERT_EQ(Submit(nullptr, Call{.name = "test.call",
                                 .type = CUDA_R_32F,
                                 .flops = 10,
                                 .memory_bytes = 20,
                                 .numbers = {7, -1}}),
            gpu::Status::kSuccess);

  const auto works = LaunchedWork(agent);
  ASSERT_EQ(works.size(), 1u);
  const auto work = As<workload::Library>(works[0]);
  EXPECT_EQ(NameOf(works[0]), "test.call");
  EXPECT_EQ(work.flops, 10u);
  EXPECT_EQ(work.memory_bytes, 20u);
  EXPECT_EQ(work.number_count, 2u);
  EXPECT_EQ(work.header.bytes, works[0].size());
}

TEST(LibraryTest, WhatWorkWritesIsForgotten) {
  StartAgent();
  const std::uint64_t address = 0x6b0100001000;
  const int value = 5;
  value::ProcessStore().Write(address, &value, sizeof(value));

  NoteWritten(nullptr, reinterpret_cast<void*>(address), sizeof(value));
  EXPECT_FALSE(value::ProcessStore().IsKnown(address, sizeof(value)));

  NoteZeroed(nullptr, reinterpret_cast<void*>(address), sizeof(value));
  EXPECT_TRUE(value::ProcessStore().IsKnown(address, sizeof(value)));
}

}  // namespace
}  // namespace eidolon::shim::library
