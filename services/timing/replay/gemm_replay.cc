// The library decides by shape, type, transposes, leading dimensions and alignment which kernel
// runs, so a call with those takes the time of the program's. Matrices are the worker's own; their
// values matter only for the power that they draw (operand.h). The library also chooses by the
// workspace, which has the size that PyTorch gives (workspace.h). What
// the plain call cannot say is refused before any matrix is allocated.
#include "services/timing/replay/gemm_replay.h"

#include <dlfcn.h>

#include <climits>
#include <utility>

#include "services/base/sim_time.h"
#include "services/base/text.h"
#include "services/timing/replay/vendor_library.h"
#include "services/timing/replay/workspace.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr const char* kLibrary = "libcublas.so.13";

// Returns whether the plain GEMM takes matrices of the type.
bool IsPlain(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
    case CUDA_R_32F:
    case CUDA_R_32I:
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_R_8I:
      return true;
    default:
      return false;
  }
}

// Why the plain GEMM cannot stand for this one; empty when it can.
std::string RefusalOf(const kernel::Gemm& gemm) {
  if (gemm.epilogue != workload::Epilogue::kNone) {
    return StrCat("epilogue ", static_cast<std::uint32_t>(gemm.epilogue), " is not replayed");
  }
  if (gemm.scale_mode != 0) return "scaled types are not replayed";
  if (gemm.pointer_array) return "batches by arrays of pointers are not replayed";
  if (gemm.type_c != gemm.type_d) return "C and D of different types are not replayed";
  for (const std::uint32_t type : {gemm.type_a, gemm.type_b, gemm.type_c}) {
    if (!IsPlain(type)) return StrCat("GEMMs of data type ", type, " are not replayed");
  }
  for (const std::uint64_t size :
       {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.lda, gemm.ldb, gemm.ldc}) {
    if (size == 0 || size > INT_MAX) return StrCat("a size of ", size, " is not replayed");
  }
  return "";
}

Result<void> CheckBlas(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode code =
      status == CUBLAS_STATUS_EXECUTION_FAILED ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  return base::Fail(code, StrCat(doing, ": cuBLAS status ", static_cast<int>(status)));
}

}  // namespace

Result<std::unique_ptr<Cublas>> Cublas::Open(const Driver& driver, const std::string& folder,
                                             std::uint32_t compute_major) {
  const auto loaded = LoadVendorLibrary(folder, kLibrary, "cuBLAS");
  if (!loaded) return std::unexpected(loaded.error());
  const auto& [library, path] = *loaded;
  std::unique_ptr<Cublas> cublas(new Cublas(driver));
  bool complete = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  find(cublas->create_, "cublasCreate_v2");
  find(cublas->destroy_, "cublasDestroy_v2");
  find(cublas->get_version_, "cublasGetVersion_v2");
  find(cublas->set_stream_, "cublasSetStream_v2");
  find(cublas->set_workspace_, "cublasSetWorkspace_v2");
  find(cublas->gemm_, "cublasGemmStridedBatchedEx");
  if (!complete) {
    return base::Fail(ErrorCode::kUnsupported, StrCat("'", path, "' is not cuBLAS 13"));
  }
  if (auto made = CheckBlas(cublas->create_(&cublas->handle_), "creating a handle"); !made) {
    return std::unexpected(made.error());
  }
  cublas->workspace_bytes_ = WorkspaceBytes(compute_major);
  const CUresult result = driver.cuMemAlloc_v2(&cublas->workspace_, cublas->workspace_bytes_);
  if (result != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(result, "allocating a workspace").error());
  }
  return cublas;
}

Cublas::~Cublas() {
  if (workspace_ != 0) driver_.cuMemFree_v2(workspace_);
  if (handle_ != nullptr) destroy_(handle_);
}

std::string Cublas::version() const {
  int version = 0;
  if (get_version_(handle_, &version) != CUBLAS_STATUS_SUCCESS) return "cublas";
  return StrCat("cublas ", version / 10000, ".", version / 100 % 100, ".", version % 100);
}

Result<std::unique_ptr<GemmCall>> GemmCall::Prepare(Cublas& cublas, const kernel::Gemm& gemm,
                                                    CUstream stream) {
  if (const std::string refusal = RefusalOf(gemm); !refusal.empty()) {
    return base::Fail(ErrorCode::kUnsupported, refusal);
  }
  std::unique_ptr<GemmCall> call(new GemmCall(cublas, gemm));
  const auto one = ScalarOf(gemm.compute_type, true);
  if (!one) return std::unexpected(one.error());
  call->alpha_ = *one;
  call->beta_ = *ScalarOf(gemm.compute_type, !gemm.beta_zero);
  const std::uint64_t columns[] = {gemm.transpose_a ? gemm.m : gemm.k,
                                   gemm.transpose_b ? gemm.k : gemm.n, gemm.n};
  const std::uint64_t leading[] = {gemm.lda, gemm.ldb, gemm.ldc};
  const std::uint32_t types[] = {gemm.type_a, gemm.type_b, gemm.type_c};
  for (std::size_t i = 0; i < 3; ++i) {
    // Sizes are below 2^31 each, so that this takes 93 bits at most.
    const base::Wide elements = base::Wide{leading[i]} * columns[i] * gemm.batch;
    auto matrix = Operand::Make(cublas.driver_, types[i], elements, stream);
    if (!matrix) return std::unexpected(matrix.error());
    call->matrices_[i] = std::move(*matrix);
    call->strides_[i] = static_cast<long long>(leading[i] * columns[i]);
  }
  return call;
}

Result<void> GemmCall::Enqueue(CUstream stream) {
  auto set = CheckBlas(cublas_.set_stream_(cublas_.handle_, stream), "choosing the stream");
  if (!set) return set;
  set =
      CheckBlas(cublas_.set_workspace_(cublas_.handle_, reinterpret_cast<void*>(cublas_.workspace_),
                                       cublas_.workspace_bytes_),
                "giving a workspace");
  if (!set) return set;
  const auto operation = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto at = [&](std::size_t i) { return matrices_[i].pointer(); };
  const auto type = [](std::uint32_t number) { return static_cast<cudaDataType>(number); };
  return CheckBlas(
      cublas_.gemm_(cublas_.handle_, operation(gemm_.transpose_a), operation(gemm_.transpose_b),
                    static_cast<int>(gemm_.m), static_cast<int>(gemm_.n), static_cast<int>(gemm_.k),
                    alpha_.data(), at(0), type(gemm_.type_a), static_cast<int>(gemm_.lda),
                    strides_[0], at(1), type(gemm_.type_b), static_cast<int>(gemm_.ldb),
                    strides_[1], beta_.data(), at(2), type(gemm_.type_c),
                    static_cast<int>(gemm_.ldc), strides_[2], static_cast<int>(gemm_.batch),
                    static_cast<cublasComputeType_t>(gemm_.compute_type), CUBLAS_GEMM_DEFAULT),
      "calling the GEMM");
}

}  // namespace eidolon::timing::replay
