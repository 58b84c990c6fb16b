// cuBLASLt takes an operation as a list of attributes, and its heuristic ranks algorithms for
// exactly that list. So the call is described as PyTorch describes it, workspace included, and the
// first algorithm is taken. Operands whose sizes the definition does not hold follow from
// cuBLASLt's rules: a bias mostly has D's type, an auxiliary matrix rows rounded up to 128 bits or
// 8 elements, scales are one number, one for each row or one for each block. What those rules leave
// open is refused, because a wrong guess would time another kernel.
#include "services/timing/replay/lt_replay.h"

#include <dlfcn.h>

#include <climits>
#include <iterator>
#include <utility>

#include "services/base/sim_time.h"
#include "services/base/text.h"
#include "services/contract/workload/epilogue.h"
#include "services/timing/replay/vendor_library.h"
#include "services/timing/replay/workspace.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using base::Wide;

namespace {

constexpr const char* kLibrary = "libcublasLt.so.13";

// Values by the numbers of workload::Epilogue; 0: not replayed.
constexpr std::uint32_t kEpilogues[] = {
    CUBLASLT_EPILOGUE_DEFAULT,
    CUBLASLT_EPILOGUE_BIAS,
    CUBLASLT_EPILOGUE_RELU,
    CUBLASLT_EPILOGUE_RELU_BIAS,
    CUBLASLT_EPILOGUE_GELU,
    CUBLASLT_EPILOGUE_GELU_BIAS,
    CUBLASLT_EPILOGUE_GELU_AUX,
    CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
    CUBLASLT_EPILOGUE_DRELU,
    CUBLASLT_EPILOGUE_DGELU,
    CUBLASLT_EPILOGUE_DGELU_BGRAD,
    CUBLASLT_EPILOGUE_BGRADA,
    CUBLASLT_EPILOGUE_BGRADB,
    0,  // Some other one.
    CUBLASLT_EPILOGUE_RELU_AUX,
    CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
    CUBLASLT_EPILOGUE_DRELU_BGRAD,
};
static_assert(std::size(kEpilogues) == workload::kEpilogues);
// Bits of those numbers.
constexpr std::uint32_t kBiasBit = 4, kReluBit = 2, kDReluBit = 8, kBiasGradientBit = 16,
                        kAuxBit = 128;

bool IsNarrow(std::uint32_t type) { return BitsOf(type) <= 8 && type != CUDA_R_8I; }
bool IsFloat(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
    case CUDA_R_32F:
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return true;
    default:
      return false;
  }
}

Wide RoundUp(Wide value, Wide step) { return (value + step - 1) / step * step; }

std::string RefusalOf(const kernel::Gemm& gemm) {
  if (gemm.pointer_array) return "batches by arrays of pointers are not replayed";
  const auto epilogue = static_cast<std::uint32_t>(gemm.epilogue);
  if (epilogue >= std::size(kEpilogues) || kEpilogues[epilogue] == 0) {
    return StrCat("epilogue ", epilogue, " is not replayed");
  }
  const bool aux = (kEpilogues[epilogue] & kAuxBit) != 0;
  if (aux && !IsFloat(gemm.type_d)) {
    return "the auxiliary matrix beside a narrow result is not replayed";
  }
  // Mode + 1. Of scaling by blocks of 128 the other operand's mode is not known.
  constexpr std::uint32_t kKnown = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
  if (gemm.scale_mode > 1 + kKnown) {
    return StrCat("scale mode ", gemm.scale_mode - 1, " is not replayed");
  }
  for (const std::uint32_t type : {gemm.type_a, gemm.type_b, gemm.type_c, gemm.type_d}) {
    if (BitsOf(type) == 0) return StrCat("GEMMs of data type ", type, " are not replayed");
  }
  for (const std::uint64_t size :
       {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.lda, gemm.ldb, gemm.ldc, gemm.ldd}) {
    if (size == 0 || size > INT_MAX) return StrCat("a size of ", size, " is not replayed");
  }
  return "";
}

Result<void> CheckLt(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode code =
      status == CUBLAS_STATUS_EXECUTION_FAILED ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  return base::Fail(code, StrCat(doing, ": cuBLASLt status ", static_cast<int>(status)));
}

}  // namespace

Result<std::unique_ptr<CublasLt>> CublasLt::Open(const Driver& driver, const std::string& folder,
                                                 std::uint32_t compute_major) {
  const auto loaded = LoadVendorLibrary(folder, kLibrary, "cuBLASLt");
  if (!loaded) return std::unexpected(loaded.error());
  const auto& [library, path] = *loaded;
  std::unique_ptr<CublasLt> lt(new CublasLt(driver));
#define EIDOLON_FIND_CALL(member, function)                                                \
  lt->lt_.member = reinterpret_cast<decltype(lt->lt_.member)>(dlsym(library, #function));  \
  if (lt->lt_.member == nullptr) {                                                         \
    return base::Fail(ErrorCode::kUnsupported, StrCat("'", path, "' is not cuBLASLt 13")); \
  }
  EIDOLON_CUBLAS_LT_CALLS(EIDOLON_FIND_CALL)
#undef EIDOLON_FIND_CALL
  if (auto made = CheckLt(lt->lt_.create(&lt->handle_), "creating a handle"); !made) {
    return std::unexpected(made.error());
  }
  lt->workspace_bytes_ = WorkspaceBytes(compute_major);
  const CUresult result = driver.cuMemAlloc_v2(&lt->workspace_, lt->workspace_bytes_);
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "allocating a workspace").error());
  }
  return lt;
}

CublasLt::~CublasLt() {
  if (workspace_ != 0) driver_.cuMemFree_v2(workspace_);
  if (handle_ != nullptr) lt_.destroy(handle_);
}

std::string CublasLt::version() const {
  const std::size_t version = lt_.version();
  return StrCat("cublasLt ", version / 10000, ".", version / 100 % 100, ".", version % 100);
}

bool NeedsLt(const kernel::Gemm& gemm) {
  return gemm.epilogue != workload::Epilogue::kNone || gemm.scale_mode != 0 ||
         gemm.type_c != gemm.type_d || gemm.ldc != gemm.ldd || IsNarrow(gemm.type_a) ||
         IsNarrow(gemm.type_b) || IsNarrow(gemm.type_d);
}

Result<std::unique_ptr<LtCall>> LtCall::Prepare(CublasLt& lt, const kernel::Gemm& gemm,
                                                CUstream stream) {
  if (const std::string refusal = RefusalOf(gemm); !refusal.empty()) {
    return base::Fail(ErrorCode::kUnsupported, refusal);
  }
  const auto alpha = ScalarOf(gemm.compute_type, true);
  if (!alpha) return std::unexpected(alpha.error());
  std::unique_ptr<LtCall> call(new LtCall(lt, gemm));
  call->alpha_ = *alpha;
  call->beta_ = *ScalarOf(gemm.compute_type, !gemm.beta_zero);
  if (auto made = call->MakeMatrices(stream); !made) return std::unexpected(made.error());
  if (auto made = call->Describe(); !made) return std::unexpected(made.error());
  if (auto made = call->DescribeEpilogue(stream); !made) return std::unexpected(made.error());
  if (auto made = call->DescribeScaling(stream); !made) return std::unexpected(made.error());
  if (auto chosen = call->Choose(); !chosen) return std::unexpected(chosen.error());
  return call;
}

LtCall::~LtCall() {
  if (desc_ != nullptr) lt_.lt_.destroy_desc(desc_);
  for (cublasLtMatrixLayout_t layout : {layout_a_, layout_b_, layout_c_, layout_d_}) {
    if (layout != nullptr) lt_.lt_.destroy_layout(layout);
  }
}

Result<void> LtCall::MakeMatrices(CUstream stream) {
  const kernel::Gemm& g = gemm_;
  struct Matrix {
    std::uint32_t type;
    std::uint64_t rows, columns, leading;
    Operand* operand;
    cublasLtMatrixLayout_t* layout;
  };
  const Matrix matrices[] = {
      {g.type_a, g.transpose_a ? g.k : g.m, g.transpose_a ? g.m : g.k, g.lda, &a_, &layout_a_},
      {g.type_b, g.transpose_b ? g.n : g.k, g.transpose_b ? g.k : g.n, g.ldb, &b_, &layout_b_},
      {g.type_c, g.m, g.n, g.ldc, &c_, &layout_c_},
      {g.type_d, g.m, g.n, g.ldd, &d_, &layout_d_},
  };
  const bool in_place = g.type_c == g.type_d && g.ldc == g.ldd;
  for (const Matrix& m : matrices) {
    auto made = CheckLt(lt_.lt_.create_layout(m.layout, static_cast<cudaDataType_t>(m.type), m.rows,
                                              m.columns, static_cast<std::int64_t>(m.leading)),
                        "describing a matrix");
    const auto batch = static_cast<std::int32_t>(g.batch);
    const auto stride = static_cast<std::int64_t>(m.leading * m.columns);
    if (made && batch > 1) {
      made = CheckLt(
          lt_.lt_.set_layout(*m.layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch)),
          "giving the batch");
    }
    if (made && batch > 1) {
      made = CheckLt(lt_.lt_.set_layout(*m.layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                        &stride, sizeof(stride)),
                     "giving the batch's stride");
    }
    if (!made) return made;
    if (m.operand == &c_ && in_place) continue;
    auto operand =
        Operand::Make(lt_.driver_, m.type, Wide{m.leading} * m.columns * g.batch, stream);
    if (!operand) return std::unexpected(operand.error());
    *m.operand = std::move(*operand);
  }
  return {};
}

template <typename T>
Result<void> LtCall::Set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
  return CheckLt(lt_.lt_.set_desc(desc_, attribute, &value, sizeof(value)), "describing the GEMM");
}

Result<void> LtCall::Describe() {
  auto done =
      CheckLt(lt_.lt_.create_desc(&desc_, static_cast<cublasComputeType_t>(gemm_.compute_type),
                                  static_cast<cudaDataType_t>(ScaleTypeOf(gemm_.compute_type))),
              "describing the GEMM");
  const auto operation = [](bool transpose) {
    return std::int32_t{transpose ? CUBLAS_OP_T : CUBLAS_OP_N};
  };
  if (done) done = Set(CUBLASLT_MATMUL_DESC_TRANSA, operation(gemm_.transpose_a));
  if (done) done = Set(CUBLASLT_MATMUL_DESC_TRANSB, operation(gemm_.transpose_b));
  if (done && gemm_.fast_accumulation) {
    done = Set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
  return done;
}

Result<void> LtCall::DescribeEpilogue(CUstream stream) {
  const std::uint32_t epilogue = kEpilogues[static_cast<std::uint32_t>(gemm_.epilogue)];
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return {};
  auto done = Set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  const bool of_b = epilogue == CUBLASLT_EPILOGUE_BGRADB;
  const bool gradient_alone = of_b || epilogue == CUBLASLT_EPILOGUE_BGRADA;
  if (done && ((epilogue & (kBiasBit | kBiasGradientBit)) != 0 || gradient_alone)) {
    // cuBLASLt's own default: D's type, bfloat16 beside narrow types.
    const bool narrow = IsNarrow(gemm_.type_a) || !IsFloat(gemm_.type_d);
    const std::uint32_t type =
        narrow && gemm_.type_d != CUDA_R_16F ? std::uint32_t{CUDA_R_16BF} : gemm_.type_d;
    auto bias = Operand::Make(lt_.driver_, type, of_b ? gemm_.n : gemm_.m, stream);
    if (!bias) return std::unexpected(bias.error());
    bias_ = std::move(*bias);
    done = Set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_.pointer());
    if (done) {
      done = Set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type));
    }
  }
  if (!done || (epilogue & kAuxBit) == 0) return done;
  // A mask of bits for ReLU; what goes into GELU for GELU.
  const bool mask = (epilogue & (kReluBit | kDReluBit)) != 0;
  const auto leading = static_cast<std::int64_t>(RoundUp(gemm_.m, mask ? 128 : 8));
  const std::int64_t stride = leading * static_cast<std::int64_t>(gemm_.n);
  const Wide elements = Wide{static_cast<std::uint64_t>(leading)} * gemm_.n * gemm_.batch;
  auto aux = Operand::Make(lt_.driver_, mask ? std::uint32_t{CUDA_R_8U} : gemm_.type_d,
                           mask ? elements / 8 : elements, stream);
  if (!aux) return std::unexpected(aux.error());
  aux_ = std::move(*aux);
  done = Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux_.pointer());
  if (done) done = Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading);
  if (done && gemm_.batch > 1) done = Set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, stride);
  return done;
}

Result<void> LtCall::DescribeScaling(CUstream stream) {
  if (gemm_.scale_mode == 0) return {};
  const auto mode = static_cast<std::int32_t>(gemm_.scale_mode - 1);
  const auto make = [&](std::uint64_t rows) {
    std::uint32_t type = CUDA_R_32F;
    Wide count = 1;
    // Blocks along k, in tiles of 128 rows and 4 blocks.
    if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3) {
      type = CUDA_R_8F_UE4M3;
      count = RoundUp(rows, 128) * RoundUp((Wide{gemm_.k} + 15) / 16, 4) * gemm_.batch;
    } else if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0) {
      type = CUDA_R_8F_UE8M0;
      count = RoundUp(rows, 128) * RoundUp((Wide{gemm_.k} + 31) / 32, 4) * gemm_.batch;
    } else if (mode == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F) {
      count = Wide{rows} * gemm_.batch;
    }
    return Operand::Make(lt_.driver_, type, count, stream, Filling::kOnes);
  };
  auto scale_a = make(gemm_.m);
  if (!scale_a) return std::unexpected(scale_a.error());
  auto scale_b = make(gemm_.n);
  if (!scale_b) return std::unexpected(scale_b.error());
  scale_a_ = std::move(*scale_a);
  scale_b_ = std::move(*scale_b);
  auto done = Set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale_a_.pointer());
  if (done) done = Set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale_b_.pointer());
  if (done && mode != 0) done = Set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode);
  if (done && mode != 0) done = Set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode);
  return done;
}

// As PyTorch asks: the first of one answer, within the workspace; operands are aligned to 256
// bytes, which is the heuristic's default.
Result<void> LtCall::Choose() {
  cublasLtMatmulPreference_t preference = nullptr;
  auto done = CheckLt(lt_.lt_.create_preference(&preference), "making a preference");
  if (!done) return done;
  const std::uint64_t workspace = lt_.workspace_bytes_;
  done = CheckLt(lt_.lt_.set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                        &workspace, sizeof(workspace)),
                 "limiting the workspace");
  cublasLtMatmulHeuristicResult_t found{};
  int count = 0;
  if (done) {
    const cublasStatus_t status =
        lt_.lt_.heuristic(lt_.handle_, desc_, layout_a_, layout_b_, layout_c_, layout_d_,
                          preference, 1, &found, &count);
    done = CheckLt(status, "choosing an algorithm");
  }
  lt_.lt_.destroy_preference(preference);
  if (!done) return done;
  if (count < 1 || found.workspaceSize > workspace) {
    return base::Fail(ErrorCode::kUnsupported, "cuBLASLt has no algorithm for this GEMM");
  }
  algorithm_ = found.algo;
  return {};
}

Result<void> LtCall::Enqueue(CUstream stream) {
  const void* c = c_.pointer() == nullptr ? d_.pointer() : c_.pointer();
  return CheckLt(
      lt_.lt_.matmul(lt_.handle_, desc_, alpha_.data(), a_.pointer(), layout_a_, b_.pointer(),
                     layout_b_, beta_.data(), c, layout_c_, d_.pointer(), layout_d_, &algorithm_,
                     reinterpret_cast<void*>(lt_.workspace_), lt_.workspace_bytes_, stream),
      "calling the GEMM");
}

}  // namespace eidolon::timing::replay
