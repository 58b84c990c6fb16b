#include "services/runtime/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace eidolon::runtime {
namespace {

TEST(OpenFilesTest, RaisesTheSoftLimitToTheHardOneAndReturnsTheOneBefore) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = limit.rlim_max - 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);

  const auto before = RaiseOpenFiles();

  ASSERT_TRUE(before);
  EXPECT_EQ(*before, limit.rlim_max - 1);
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(limit.rlim_cur, limit.rlim_max);
  EXPECT_EQ(RaiseOpenFiles(), std::nullopt);
}

}  // namespace
}  // namespace eidolon::runtime
