#include "shim/vendor/cuda_driver/tensor_map.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/vendor/cuda_driver/handlers.h"

namespace eidolon::shim::cuda_driver::tensor_map {
namespace {

// A valid request: 4,096 x 512 bfloat16 in boxes of 64 x 64, as matrix kernels ask for it.
struct Request {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  cuuint32_t rank = 2;
  std::uintptr_t address = 0x7f00'0000'0000;
  std::vector<cuuint64_t> sizes{512, 4096, 8, 8, 8};
  std::vector<cuuint64_t> strides{1024, 1024 * 4096, 1024, 1024};
  std::vector<cuuint32_t> box{64, 64, 1, 1, 1};
  std::vector<cuuint32_t> steps{1, 1, 1, 1, 1};
  CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;

  CUresult Encode(CUtensorMap* map) const {
    return EncodeTiled(map, type, rank, reinterpret_cast<void*>(address), sizes.data(),
                       strides.data(), box.data(), steps.data(), interleave, swizzle, promotion,
                       fill);
  }
};

class TensorMapTest : public ::testing::Test {
 protected:
  TensorMapTest() {
    core::FakeAgent::Start();
    CUcontext context = nullptr;
    EXPECT_EQ(start::Init(0), CUDA_SUCCESS);
    EXPECT_EQ(context::PrimaryRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(context::SetCurrent(context), CUDA_SUCCESS);
  }

  CUtensorMap map_{};
};

TEST_F(TensorMapTest, TakesWhatTheDocumentationAllows) {
  const std::vector<std::function<void(Request&)>> changes{
      [](Request&) {},
      [](Request& r) { r.rank = 1; },
      [](Request& r) { r.rank = 5; },
      [](Request& r) { r.sizes[1] = cuuint64_t{1} << 32; },
      [](Request& r) { r.steps[0] = 0; },  // Ignored without interleaving.
      [](Request& r) {
        r.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
        r.swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
        r.box[0] = 256;
      },
      [](Request& r) {
        r.rank = 3;
        r.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;
        r.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
      },
      [](Request& r) {
        r.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
        r.box[0] = 128;
      },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Request request;
    changes[i](request);
    EXPECT_EQ(request.Encode(&map_), CUDA_SUCCESS) << "request " << i;
  }
}

TEST_F(TensorMapTest, RefusesWhatTheDocumentationRulesOut) {
  const std::vector<std::function<void(Request&)>> changes{
      [](Request& r) { r.type = static_cast<CUtensorMapDataType>(99); },
      [](Request& r) { r.rank = 0; },
      [](Request& r) { r.rank = 6; },
      [](Request& r) { r.interleave = CU_TENSOR_MAP_INTERLEAVE_16B; },  // Needs three dimensions.
      [](Request& r) { r.address += 8; },
      [](Request& r) { r.sizes[1] = 0; },
      [](Request& r) { r.sizes[1] = (cuuint64_t{1} << 32) + 1; },
      [](Request& r) { r.strides[0] = 1032; },
      [](Request& r) { r.strides[0] = cuuint64_t{1} << 40; },
      [](Request& r) { r.box[1] = 0; },
      [](Request& r) { r.box[1] = 257; },
      [](Request& r) { r.box[0] = 4; },    // Eight bytes.
      [](Request& r) { r.box[0] = 128; },  // More than the swizzle's 128 bytes.
      [](Request& r) { r.steps[1] = 0; },
      [](Request& r) { r.steps[1] = 9; },
      [](Request& r) { r.swizzle = static_cast<CUtensorMapSwizzle>(7); },
      [](Request& r) { r.promotion = static_cast<CUtensorMapL2promotion>(4); },
      [](Request& r) { r.fill = static_cast<CUtensorMapFloatOOBfill>(2); },
      [](Request& r) {
        r.type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
        r.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
      },
      [](Request& r) {
        r.rank = 3;
        r.interleave = CU_TENSOR_MAP_INTERLEAVE_32B;  // Wants the 32-byte swizzle.
      },
      [](Request& r) { r.type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B; },  // Wants a box of 128.
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Request request;
    changes[i](request);
    EXPECT_EQ(request.Encode(&map_), CUDA_ERROR_INVALID_VALUE) << "request " << i;
  }
  auto* crooked = reinterpret_cast<CUtensorMap*>(reinterpret_cast<char*>(&map_) + 16);
  EXPECT_EQ(Request{}.Encode(nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Request{}.Encode(crooked), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMapTest, MapsOfEqualTensorsDifferOnlyInTheAddress) {
  Request here, there, other;
  there.address += 1 << 20;
  other.sizes[1] = 2048;
  CUtensorMap second{}, third{};
  ASSERT_EQ(here.Encode(&map_), CUDA_SUCCESS);
  ASSERT_EQ(there.Encode(&second), CUDA_SUCCESS);
  ASSERT_EQ(other.Encode(&third), CUDA_SUCCESS);

  EXPECT_EQ(map_.opaque[0], here.address);
  EXPECT_EQ(second.opaque[0], there.address);
  const std::size_t rest = sizeof(map_) - sizeof(map_.opaque[0]);
  EXPECT_EQ(std::memcmp(&map_.opaque[1], &second.opaque[1], rest), 0);
  EXPECT_NE(std::memcmp(&map_.opaque[1], &third.opaque[1], rest), 0);
}

TEST_F(TensorMapTest, AnAddressIsReplaced) {
  Request request, moved;
  moved.address += 4096;
  CUtensorMap expected{};
  ASSERT_EQ(request.Encode(&map_), CUDA_SUCCESS);
  ASSERT_EQ(moved.Encode(&expected), CUDA_SUCCESS);
  CUtensorMap blank{};

  EXPECT_EQ(ReplaceAddress(&map_, reinterpret_cast<void*>(moved.address)), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&map_, &expected, sizeof(map_)), 0);
  EXPECT_EQ(ReplaceAddress(&map_, reinterpret_cast<void*>(moved.address + 8)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ReplaceAddress(&blank, reinterpret_cast<void*>(moved.address)),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver::tensor_map
