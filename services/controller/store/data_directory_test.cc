#include "services/controller/store/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "services/testing/temporary_directory.h"

namespace eidolon::controller::store {
namespace {

TEST(DataDirectoryTest, IsMadeWithItsParents) {
  const testing::TemporaryDirectory root;

  const auto directory = DataDirectory::Open(root / "a/b");

  ASSERT_TRUE(directory) << directory.error().message;
  EXPECT_TRUE(std::filesystem::is_directory(root / "a/b/logs"));
}

TEST(DataDirectoryTest, ASecondOwnerIsToldWhoTheFirstIs) {
  const testing::TemporaryDirectory root;
  auto first = DataDirectory::Open(root.path());
  ASSERT_TRUE(first);

  const auto second = DataDirectory::Open(root.path());

  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message,
              ::testing::HasSubstr("is in use by process " + std::to_string(getpid())));
}

TEST(DataDirectoryTest, SaysWhyItCannotBeMade) {
  const auto directory = DataDirectory::Open("/proc/eidolon");

  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, ::testing::HasSubstr("/proc/eidolon"));
}

}  // namespace
}  // namespace eidolon::controller::store
