#include "services/base/replace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace eidolon::base {
namespace {

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(ReplaceFileTest, TheNewFileStandsWhereTheOldOneDidAndNothingElseIsLeft) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "replace_file";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "kept";

  EXPECT_TRUE(ReplaceFile(path, BytesOf("a longer text")));
  EXPECT_TRUE(ReplaceFile(path, BytesOf("short")));

  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "short");
  const std::filesystem::directory_iterator files(folder);
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  EXPECT_FALSE(ReplaceFile(folder / "nowhere" / "kept", BytesOf("short")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace eidolon::base
