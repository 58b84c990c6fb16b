#include "shim/vendor/cupti/callback_name.h"

#include <gtest/gtest.h>

namespace eidolon::shim::cupti {
namespace {

TEST(CallbackNameTest, NumbersCallsOfRuntimeAndDriver) {
  EXPECT_EQ(NameCall("cudaLaunchKernel").api, Api::kRuntime);
  EXPECT_EQ(NameCall("cudaLaunchKernel").id, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(NameCall("__cudaLaunchKernel").id, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(NameCall("cuMemAlloc_v2").api, Api::kDriver);
  EXPECT_EQ(NameCall("cuMemAlloc_v2").id, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
}

TEST(CallbackNameTest, TellsLibrariesFromWhatNobodySees) {
  EXPECT_EQ(NameCall("cublasGemmEx").api, Api::kLibrary);
  EXPECT_EQ(NameCall("ncclGroupEnd").api, Api::kLibrary);
  EXPECT_EQ(NameCall("cuptiActivityFlushAll").api, Api::kNone);
  EXPECT_EQ(NameCall("cudaOfNoVersion").api, Api::kNone);
}

TEST(CallbackNameTest, GivesTheVendorsText) {
  EXPECT_STREQ(
      CallbackText(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000),
      "cudaLaunchKernel_v7000");
  EXPECT_STREQ(CallbackText(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
               "cuLaunchKernel");
  EXPECT_EQ(CallbackText(CUPTI_CB_DOMAIN_RUNTIME_API, 60'000), nullptr);
  EXPECT_EQ(CallbackText(CUPTI_CB_DOMAIN_NVTX, 1), nullptr);
}

}  // namespace
}  // namespace eidolon::shim::cupti
