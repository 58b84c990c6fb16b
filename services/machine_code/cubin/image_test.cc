#include "services/machine_code/cubin/image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

class ImageTest : public testing::Test {
 protected:
  ImageTest() : fat_(ReadSample("zstandard.fatbin")), ptx_(ReadSample("sample.ptx")) {
    folder_ = testing::TempDir() + "/cubin-index-" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~ImageTest() override { std::filesystem::remove_all(folder_); }

  std::string fat_;
  std::string ptx_;
  std::string folder_;
};

TEST_F(ImageTest, RecognisesEveryFormThatModuleLoadingTakes) {
  struct Wrapper {
    std::uint32_t magic = 0x466243b1;
    std::uint32_t version = 1;
    const void* data = nullptr;
    const void* linked = nullptr;
  };
  const Wrapper wrapper{.data = fat_.data()};

  const auto wrapped = FindImage(&wrapper);
  const auto plain = FindImage(fat_.data());
  const auto text = FindImage(ptx_.c_str());

  ASSERT_TRUE(wrapped && plain && text);
  EXPECT_EQ(wrapped->kind, ImageKind::kFatBinary);
  EXPECT_EQ(wrapped->bytes.size(), fat_.size());
  EXPECT_EQ(plain->bytes.data(), wrapped->bytes.data());
  EXPECT_EQ(text->kind, ImageKind::kPtx);
  EXPECT_EQ(text->bytes.size(), ptx_.size());
  EXPECT_FALSE(FindImage("\x01\x02\x03\x04 something else"));
}

TEST_F(ImageTest, LoadsWhatTheDeviceWouldLoad) {
  const IndexCache cache("");
  const auto loaded = cache.Load(*FindImage(fat_.data()), {9, 0});

  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(Name((*loaded)->index().header().target), "sm_90a");
  EXPECT_NE((*loaded)->index().FindFunction("scale"), nullptr);
  EXPECT_FALSE((*loaded)->from_cache());
}

TEST_F(ImageTest, TheSecondProcessReadsTheIndexFromTheFolder) {
  const IndexCache cache(folder_);
  const auto first = cache.Load(*FindImage(fat_.data()), {9, 0});
  const auto second = cache.Load(*FindImage(fat_.data()), {9, 0});
  ASSERT_TRUE(first && second);

  EXPECT_FALSE((*first)->from_cache());
  EXPECT_TRUE((*second)->from_cache());
  EXPECT_EQ((*first)->index().header().content, (*second)->index().header().content);
  EXPECT_EQ((*second)->index().FindFunction("tile")->static_shared_bytes, 4096u);
}

TEST_F(ImageTest, AnotherBuildMakesAnIndexOfItsOwn) {
  ASSERT_TRUE(IndexCache(folder_, {1, 2}).Load(*FindImage(fat_.data()), {9, 0}));
  const auto other = IndexCache(folder_, {3, 4}).Load(*FindImage(fat_.data()), {9, 0});
  const auto same = IndexCache(folder_, {1, 2}).Load(*FindImage(fat_.data()), {9, 0});
  ASSERT_TRUE(other && same);

  EXPECT_FALSE((*other)->from_cache());
  EXPECT_TRUE((*same)->from_cache());
}

// A container with one entry of PTX, that is not packed.
std::string ContainerOf(const std::string& text, std::uint32_t architecture) {
  std::string bytes(16 + 64, '\0');
  const auto put = [&bytes](std::size_t at, auto number) {
    std::memcpy(bytes.data() + at, &number, sizeof(number));
  };
  put(0, kFatBinaryMagic);
  put(6, std::uint16_t{16});
  put(8, std::uint64_t{64 + text.size()});
  put(16, std::uint16_t{1});
  put(16 + 4, std::uint32_t{64});
  put(16 + 8, std::uint64_t{text.size()});
  put(16 + 28, architecture);
  return bytes + text;
}

TEST_F(ImageTest, TheSameCodeForAnotherArchitectureHasAnIndexOfItsOwn) {
  const IndexCache cache(folder_);
  const std::string older = ContainerOf(ptx_, 75);
  const std::string newer = ContainerOf(ptx_, 80);

  const auto first = cache.Load(*FindImage(older.data()), {9, 0});
  const auto second = cache.Load(*FindImage(newer.data()), {9, 0});

  ASSERT_TRUE(first) << first.error().message;
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(Name((*first)->index().header().target), "sm_75");
  EXPECT_EQ(Name((*second)->index().header().target), "sm_80");
  EXPECT_FALSE((*second)->from_cache());
}

TEST_F(ImageTest, ReplacesADamagedIndex) {
  const IndexCache cache(folder_);
  ASSERT_TRUE(cache.Load(*FindImage(ptx_.c_str()), {9, 0}));
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    std::ofstream(entry.path(), std::ios::trunc) << "garbage";
  }

  const auto again = cache.Load(*FindImage(ptx_.c_str()), {9, 0});
  const auto after = cache.Load(*FindImage(ptx_.c_str()), {9, 0});

  ASSERT_TRUE(again && after);
  EXPECT_FALSE((*again)->from_cache());
  EXPECT_TRUE((*after)->from_cache());
}

TEST_F(ImageTest, WorksWithoutAUsableFolder) {
  const IndexCache cache("/nonexistent/folder");

  EXPECT_TRUE(cache.Load(*FindImage(fat_.data()), {9, 0}));
}

TEST_F(ImageTest, RefusesCodeThatDoesNotRunThere) {
  const IndexCache cache("");
  const auto fat = cache.Load(*FindImage(fat_.data()), {7, 0});
  const auto text = cache.Load(*FindImage(ptx_.c_str()), {7, 0});

  ASSERT_FALSE(fat);
  EXPECT_EQ(fat.error().code, base::ErrorCode::kNotFound);
  EXPECT_NE(fat.error().message.find("7.0"), std::string::npos);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().message.find("sm_75"), std::string::npos);
}

}  // namespace
}  // namespace eidolon::cubin
