#include "services/timing/count/counted_kernels.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/timing/count/count_samples_test.h"

namespace eidolon::timing::count {
namespace {

class CountedKernelsTest : public testing::Test {
 protected:
  CountedKernelsTest() {
    std::string folder = testing::TempDir() + "/countsXXXXXX";
    folder_ = mkdtemp(folder.data());
    const auto bytes = SampleCode();
    code_.resize(bytes.size());
    std::memcpy(code_.data(), bytes.data(), bytes.size());
    const base::Digest digest = base::Hash128(code_.data(), code_.size());
    hash_.resize(16);
    std::memcpy(hash_.data(), &digest.high, 8);
    std::memcpy(hash_.data() + 8, &digest.low, 8);
    std::memcpy(launch_.module_hash, hash_.data(), hash_.size());
  }
  ~CountedKernelsTest() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
  std::string code_;
  std::string hash_;
  kernel::KernelLaunch launch_ = Scale(1 << 20);
};

TEST_F(CountedKernelsTest, CountsOnceTheCodeIsHere) {
  CountedKernels kernels(folder_);
  EXPECT_TRUE(kernels.WantsCode(H100(), launch_));
  EXPECT_FALSE(kernels.Find(H100(), launch_).has_value());
  ASSERT_TRUE(kernels.AddCode(hash_, code_).has_value());
  EXPECT_FALSE(kernels.WantsCode(H100(), launch_));
  const auto counts = kernels.Find(H100(), launch_);
  ASSERT_TRUE(counts.has_value());
  EXPECT_EQ(counts->bytes_read, 4 << 20);
}

TEST_F(CountedKernelsTest, AnotherProcessNeedsNoCode) {
  CountedKernels first(folder_);
  ASSERT_TRUE(first.AddCode(hash_, code_).has_value());
  const auto counts = first.Find(H100(), launch_);
  CountedKernels second(folder_);
  EXPECT_FALSE(second.WantsCode(H100(), launch_));
  const auto found = second.Find(H100(), launch_);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->block.clocks, counts->block.clocks);
  EXPECT_EQ(found->bytes_in_order, counts->bytes_in_order);
  // Another size is another launch.
  EXPECT_TRUE(second.WantsCode(H100(), [&] {
    kernel::KernelLaunch other = Scale(1 << 21);
    std::memcpy(other.module_hash, hash_.data(), hash_.size());
    return other;
  }()));
}

TEST_F(CountedKernelsTest, CountsAgainWhatIsDamaged) {
  CountedKernels first(folder_);
  ASSERT_TRUE(first.AddCode(hash_, code_).has_value());
  ASSERT_TRUE(first.Find(H100(), launch_).has_value());
  ASSERT_EQ(ReadRecords(folder_).size(), 1u);
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::ofstream(entry.path()) << "eidolon kernel counts 10\nname scale\n";
  }
  EXPECT_TRUE(ReadRecords(folder_).empty());
  EXPECT_TRUE(CountedKernels(folder_).WantsCode(H100(), launch_));
}

TEST_F(CountedKernelsTest, RefusesCodeOfAnotherHash) {
  CountedKernels kernels("");
  const auto added = kernels.AddCode(hash_, "something else");
  ASSERT_FALSE(added.has_value());
  EXPECT_EQ(added.error().code, base::ErrorCode::kInvalidArgument);
}

TEST_F(CountedKernelsTest, AsksOnceForWhatCannotBeCounted) {
  CountedKernels kernels("");
  ASSERT_TRUE(kernels.AddCode(hash_, code_).has_value());
  launch_.name = "nobody";
  EXPECT_FALSE(kernels.Find(H100(), launch_).has_value());
  EXPECT_FALSE(kernels.WantsCode(H100(), launch_));
}

TEST(RecordTest, NamesWhatIsMissing) {
  const auto record = ParseRecord("eidolon kernel counts 10\nname x\ngpu y\n");
  ASSERT_FALSE(record.has_value());
  EXPECT_NE(record.error().message.find("is missing"), std::string::npos) << record.error().message;
  EXPECT_FALSE(ParseRecord("eidolon kernel counts 0\n").has_value());
}

}  // namespace
}  // namespace eidolon::timing::count
