// Programs ask for algorithms, keep their bytes, and pass them to the call later, also after tuning
// among several. One algorithm exists, so a search ends with its first candidate, and its bytes are
// recognised by a magic number. It needs no workspace, so it fits every limit of a preference. The
// tile is chosen only for the number of waves that the answer has: the largest one that still fills
// all multiprocessors. The time does not depend on it.
#include "shim/vendor/cublas_lt/algorithm.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cublas/handle.h"
#include "shim/vendor/cublas_lt/attribute.h"
#include "shim/vendor/cublas_lt/gemm_description.h"

namespace eidolon::shim::cublas_lt::algorithm {
namespace {

// Contents of our cublasLtMatmulAlgo_t.
struct Configuration {
  static constexpr std::uint32_t kMagic = 0x4c74416c;
  std::uint32_t magic = kMagic;
  std::int32_t id = kId;
  std::uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  std::int32_t split_k = 1;
  std::uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  std::uint32_t swizzle = 0;
  std::uint32_t custom = 0;
  std::uint32_t stages = CUBLASLT_MATMUL_STAGES_UNDEFINED;
  std::uint16_t inner_shape = CUBLASLT_MATMUL_INNER_SHAPE_UNDEFINED;
  std::uint16_t cluster = CUBLASLT_CLUSTER_SHAPE_AUTO;
};
static_assert(sizeof(Configuration) <= sizeof(cublasLtMatmulAlgo_t));

#define FIELD(number, field) \
  { number, offsetof(Configuration, field), sizeof(Configuration::field) }
constexpr Attribute kConfigAttributes[] = {
    FIELD(CUBLASLT_ALGO_CONFIG_ID, id),
    FIELD(CUBLASLT_ALGO_CONFIG_TILE_ID, tile),
    FIELD(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split_k),
    FIELD(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, reduction),
    FIELD(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle),
    FIELD(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom),
    FIELD(CUBLASLT_ALGO_CONFIG_STAGES_ID, stages),
    FIELD(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, inner_shape),
    FIELD(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster),
};
#undef FIELD

struct Tile {
  std::uint32_t id;
  std::uint64_t rows, columns;
};
constexpr Tile kTiles[] = {{CUBLASLT_MATMUL_TILE_128x256, 128, 256},
                           {CUBLASLT_MATMUL_TILE_128x128, 128, 128},
                           {CUBLASLT_MATMUL_TILE_64x64, 64, 64}};

std::uint64_t CountTiles(const workload::Gemm& work, const Tile& tile) {
  return ((work.m + tile.rows - 1) / tile.rows) * ((work.n + tile.columns - 1) / tile.columns) *
         work.batch;
}

std::uint64_t Multiprocessors() {
  const core::Session* session = core::Session::Get();
  return session == nullptr ? 1 : session->device(gpu::CurrentDevice()).multiprocessors;
}

// The largest tile that still fills the GPU, else the smallest.
const Tile& ChooseTile(const workload::Gemm& work) {
  for (const Tile& tile : kTiles) {
    if (CountTiles(work, tile) >= Multiprocessors()) return tile;
  }
  return kTiles[2];
}

float WavesOf(const workload::Gemm& work, const Tile& tile) {
  return static_cast<float>(CountTiles(work, tile)) / static_cast<float>(Multiprocessors());
}

void Store(const Configuration& configuration, cublasLtMatmulAlgo_t* algorithm) {
  *algorithm = {};
  std::memcpy(algorithm, &configuration, sizeof(configuration));
}

// The GEMM behind handles, or cuBLASLt's code.
std::expected<workload::Gemm, cublasStatus_t> DescribeHandles(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc_handle, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (cublas::Context::Find(handle) == nullptr) {
    return std::unexpected(CUBLAS_STATUS_NOT_INITIALIZED);
  }
  const MatmulDesc* desc = FindDescriptor<MatmulDesc>(desc_handle);
  const Layouts layouts{FindDescriptor<MatrixLayout>(a), FindDescriptor<MatrixLayout>(b),
                        FindDescriptor<MatrixLayout>(c), FindDescriptor<MatrixLayout>(d)};
  if (desc == nullptr || layouts.a == nullptr || layouts.b == nullptr || layouts.c == nullptr ||
      layouts.d == nullptr) {
    return std::unexpected(CUBLAS_STATUS_INVALID_VALUE);
  }
  return Describe(*desc, layouts);
}

}  // namespace

bool IsOurs(const cublasLtMatmulAlgo_t& algorithm) {
  Configuration configuration;
  std::memcpy(static_cast<void*>(&configuration), &algorithm, sizeof(configuration));
  return configuration.magic == Configuration::kMagic && configuration.id == kId;
}

cublasStatus_t GetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                            cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                            cublasLtMatmulPreference_t preference, int requested,
                            cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (requested <= 0 || results == nullptr || returned == nullptr) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *returned = 0;
  if (FindDescriptor<Preference>(preference) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto work = DescribeHandles(handle, desc, a, b, c, d);
  if (!work.has_value()) return work.error();

  const Tile& tile = ChooseTile(*work);
  Configuration configuration;
  configuration.tile = tile.id;
  cublasLtMatmulHeuristicResult_t result{};
  Store(configuration, &result.algo);
  result.workspaceSize = 0;  // Within every limit.
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = WavesOf(*work, tile);
  results[0] = result;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetIds(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                      cudaDataType_t, cudaDataType_t, cudaDataType_t, int requested, int ids[],
                      int* returned) {
  if (cublas::Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || ids == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  ids[0] = kId;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Init(cublasLtHandle_t handle, cublasComputeType_t, cudaDataType_t, cudaDataType_t,
                    cudaDataType_t, cudaDataType_t, cudaDataType_t, int id,
                    cublasLtMatmulAlgo_t* algorithm) {
  if (cublas::Context::Find(handle) == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (algorithm == nullptr || id != kId) return CUBLAS_STATUS_INVALID_VALUE;
  Store(Configuration(), algorithm);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t Check(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                     const cublasLtMatmulAlgo_t* algorithm,
                     cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm == nullptr || result == nullptr || !IsOurs(*algorithm)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto work = DescribeHandles(handle, desc, a, b, c, d);
  if (!work.has_value()) return work.error();
  result->workspaceSize = 0;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = WavesOf(*work, ChooseTile(*work));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t ConfigSet(cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulAlgoConfigAttributes_t attribute, const void* value,
                         std::size_t bytes) {
  if (algorithm == nullptr || !IsOurs(*algorithm) || attribute == CUBLASLT_ALGO_CONFIG_ID) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return SetAttribute(kConfigAttributes, algorithm, attribute, value, bytes);
}

cublasStatus_t ConfigGet(const cublasLtMatmulAlgo_t* algorithm,
                         cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                         std::size_t bytes, std::size_t* written) {
  if (algorithm == nullptr || !IsOurs(*algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  return GetAttribute(kConfigAttributes, algorithm, attribute, value, bytes, written);
}

cublasStatus_t CapabilityGet(const cublasLtMatmulAlgo_t* algorithm,
                             cublasLtMatmulAlgoCapAttributes_t attribute, void* value,
                             std::size_t bytes, std::size_t* written) {
  if (algorithm == nullptr || !IsOurs(*algorithm)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto answer = [&](auto field) {
    return AnswerAttribute(&field, sizeof(field), value, bytes, written);
  };
  switch (attribute) {
    case CUBLASLT_ALGO_CAP_SPLITK_SUPPORT:
    case CUBLASLT_ALGO_CAP_UPLO_SUPPORT:
    case CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX:
    case CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER:
    case CUBLASLT_ALGO_CAP_LD_NEGATIVE:
    case CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_GROUPED_SUPPORT:
      return answer(std::int32_t{0});
    case CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT:
    case CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT:
    case CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT:
      return answer(std::int32_t{1});
    case CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK:
    case CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT:
      return answer(std::uint32_t{0});
    case CUBLASLT_ALGO_CAP_TILE_IDS:
      return answer(std::to_array<std::uint32_t>({kTiles[0].id, kTiles[1].id, kTiles[2].id}));
    case CUBLASLT_ALGO_CAP_STAGES_IDS:
      return answer(std::uint32_t{CUBLASLT_MATMUL_STAGES_UNDEFINED});
    case CUBLASLT_ALGO_CAP_POINTER_MODE_MASK:
      return answer(std::uint32_t{31});
    case CUBLASLT_ALGO_CAP_EPILOGUE_MASK:
      return answer(std::uint32_t{1023});
    case CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS:
      return answer(std::uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA});
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES:
      return answer(std::uint32_t{1});
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

}  // namespace eidolon::shim::cublas_lt::algorithm
