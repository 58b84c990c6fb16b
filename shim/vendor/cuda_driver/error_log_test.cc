#include "shim/vendor/cuda_driver/error_log.h"

#include <gtest/gtest.h>

namespace eidolon::shim::cuda_driver::error_log {
namespace {

void Ignore(void*, CUlogLevel, char*, std::size_t) {}

TEST(ErrorLogTest, KnowsTheCallbacksItGaveOut) {
  CUlogsCallbackHandle handle = nullptr;

  EXPECT_EQ(RegisterCallback(Ignore, nullptr, &handle), CUDA_SUCCESS);
  EXPECT_EQ(UnregisterCallback(handle), CUDA_SUCCESS);
  EXPECT_EQ(UnregisterCallback(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(RegisterCallback(nullptr, nullptr, &handle), CUDA_ERROR_INVALID_VALUE);
}

TEST(ErrorLogTest, IsEmpty) {
  CUlogIterator end = 7;
  char text[8] = "before";
  std::size_t size = sizeof(text);

  EXPECT_EQ(GetCurrent(&end, 0), CUDA_SUCCESS);
  EXPECT_EQ(DumpToMemory(&end, text, &size, 0), CUDA_SUCCESS);
  EXPECT_EQ(size, 0u);
  EXPECT_STREQ(text, "");
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver::error_log
