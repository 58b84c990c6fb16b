#include "shim/vendor/cusparse/handle.h"

#include <gtest/gtest.h>

#include "shim/core/fake_agent.h"

namespace eidolon::shim::cusparse {
namespace {

class CusparseHandleTest : public ::testing::Test {
 protected:
  CusparseHandleTest() { core::FakeAgent::Start(); }
};

TEST_F(CusparseHandleTest, KeepsStreamAndPointerMode) {
  cusparseHandle_t made = nullptr;
  ASSERT_EQ(handle::Create(&made), CUSPARSE_STATUS_SUCCESS);
  int somewhere = 0;
  const auto stream = reinterpret_cast<cudaStream_t>(&somewhere);
  EXPECT_EQ(handle::SetStream(made, stream), CUSPARSE_STATUS_SUCCESS);
  cudaStream_t found = nullptr;
  EXPECT_EQ(handle::GetStream(made, &found), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(found, stream);
  cusparsePointerMode_t mode = CUSPARSE_POINTER_MODE_DEVICE;
  EXPECT_EQ(handle::GetPointerMode(made, &mode), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(mode, CUSPARSE_POINTER_MODE_HOST);
  EXPECT_EQ(handle::SetPointerMode(made, CUSPARSE_POINTER_MODE_DEVICE), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetPointerMode(made, &mode), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(mode, CUSPARSE_POINTER_MODE_DEVICE);
  EXPECT_EQ(handle::GetStream(made, nullptr), CUSPARSE_STATUS_INVALID_VALUE);
  EXPECT_EQ(handle::Destroy(made), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(handle::Destroy(made), CUSPARSE_STATUS_NOT_INITIALIZED);
}

TEST_F(CusparseHandleTest, PropertiesMakeUpTheVersion) {
  cusparseHandle_t made = nullptr;
  ASSERT_EQ(handle::Create(&made), CUSPARSE_STATUS_SUCCESS);
  int version = 0;
  int major = 0;
  int minor = 0;
  int patch = 0;
  EXPECT_EQ(handle::GetVersion(made, &version), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetProperty(MAJOR_VERSION, &major), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetProperty(MINOR_VERSION, &minor), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(handle::GetProperty(PATCH_LEVEL, &patch), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(version, major * 1000 + minor * 100 + patch);
  EXPECT_EQ(handle::Destroy(made), CUSPARSE_STATUS_SUCCESS);
}

TEST_F(CusparseHandleTest, ErrorsHaveNamesAndWords) {
  EXPECT_STREQ(handle::ErrorName(CUSPARSE_STATUS_NOT_SUPPORTED), "CUSPARSE_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(handle::ErrorText(CUSPARSE_STATUS_NOT_SUPPORTED),
               "not supported on a simulated GPU");
  EXPECT_STREQ(handle::ErrorName(static_cast<cusparseStatus_t>(99)), "unrecognized error code");
}

}  // namespace
}  // namespace eidolon::shim::cusparse
