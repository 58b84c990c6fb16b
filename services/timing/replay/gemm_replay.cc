#include "services/timing/replay/gemm_replay.h"

#include <dlfcn.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <vector>

#include "services/base/hash.h"
#include "services/base/sim_time.h"
#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

constexpr std::size_t kWorkspaceBytes = 32 << 20;
constexpr std::uint64_t kPatternBytes = 1 << 20;
constexpr const char* kLibrary = "libcublas.so.13";

// Bytes of an element; 0 for types that the plain product does not take.
std::uint64_t BytesOf(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
    case CUDA_R_32I:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    case CUDA_R_8I:
      return 1;
    default:
      return 0;
  }
}

// A scalar of the compute type. False when the type is not one of a real product.
bool PutScalar(std::uint32_t compute_type, bool one, std::array<unsigned char, 8>& scalar) {
  scalar = {};
  const float single = one ? 1.0f : 0.0f;
  const double twice = one ? 1.0 : 0.0;
  const std::int32_t integer = one ? 1 : 0;
  const std::uint16_t half = one ? 0x3c00 : 0;
  switch (compute_type) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC:
      std::memcpy(scalar.data(), &half, sizeof(half));
      return true;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC:
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      std::memcpy(scalar.data(), &single, sizeof(single));
      return true;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
      std::memcpy(scalar.data(), &twice, sizeof(twice));
      return true;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC:
      std::memcpy(scalar.data(), &integer, sizeof(integer));
      return true;
    default:
      return false;
  }
}

// Why the plain product cannot stand for this one; empty when it can.
std::string RefusalOf(const kernel::Gemm& gemm) {
  if (gemm.epilogue != 0) return StrCat("epilogue ", gemm.epilogue, " is not replayed");
  if (gemm.scale_mode != 0) return "scaled types are not replayed";
  if (gemm.pointer_array) return "batches by arrays of pointers are not replayed";
  if (gemm.type_c != gemm.type_d) return "C and D of different types are not replayed";
  for (const std::uint32_t type : {gemm.type_a, gemm.type_b, gemm.type_c}) {
    if (BytesOf(type) == 0) return StrCat("products of data type ", type, " are not replayed");
  }
  for (const std::uint64_t size :
       {gemm.m, gemm.n, gemm.k, gemm.batch, gemm.lda, gemm.ldb, gemm.ldc}) {
    if (size == 0 || size > INT_MAX) return StrCat("a size of ", size, " is not replayed");
  }
  return "";
}

// Small numbers of random signs and digits, as bytes.
std::vector<unsigned char> PatternOf(std::uint32_t type, std::uint64_t bytes) {
  std::vector<unsigned char> pattern(bytes);
  const std::uint64_t width = std::max<std::uint64_t>(BytesOf(type), 1);
  for (std::uint64_t at = 0; at + width <= bytes; at += width) {
    const std::uint64_t draw = base::FoldedMultiply(at + 1, 0x9e3779b97f4a7c15u);
    std::uint64_t value = draw;
    switch (type) {  // Sign and digits random, the exponent that of 1/8.
      case CUDA_R_64F:
        value = (draw & 0x800fffffffffffffu) | 0x3fc0000000000000u;
        break;
      case CUDA_R_32F:
        value = (draw & 0x807fffffu) | 0x3e000000u;
        break;
      case CUDA_R_16F:
        value = (draw & 0x83ffu) | 0x3000u;
        break;
      case CUDA_R_16BF:
        value = (draw & 0x807fu) | 0x3e00u;
        break;
      default:
        break;
    }
    std::memcpy(pattern.data() + at, &value, width);
  }
  return pattern;
}

Result<void> CheckBlas(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  const ErrorCode code =
      status == CUBLAS_STATUS_EXECUTION_FAILED ? ErrorCode::kUnavailable : ErrorCode::kInternal;
  return base::Fail(code, StrCat(doing, ": cuBLAS status ", static_cast<int>(status)));
}

}  // namespace

Result<std::unique_ptr<Cublas>> Cublas::Open(const Driver& driver, const std::string& folder) {
  const std::string path = folder.empty() ? kLibrary : StrCat(folder, "/", kLibrary);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return base::Fail(ErrorCode::kNotFound,
                      StrCat("no cuBLAS: ", reason == nullptr ? path.c_str() : reason));
  }
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
  const CUresult result = driver.cuMemAlloc_v2(&cublas->workspace_, kWorkspaceBytes);
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
  if (!PutScalar(gemm.compute_type, true, call->alpha_)) {
    return base::Fail(ErrorCode::kUnsupported,
                      StrCat("compute type ", gemm.compute_type, " is not replayed"));
  }
  PutScalar(gemm.compute_type, !gemm.beta_zero, call->beta_);
  const std::uint64_t columns[] = {gemm.transpose_a ? gemm.m : gemm.k,
                                   gemm.transpose_b ? gemm.k : gemm.n, gemm.n};
  const std::uint64_t leading[] = {gemm.lda, gemm.ldb, gemm.ldc};
  const std::uint32_t types[] = {gemm.type_a, gemm.type_b, gemm.type_c};
  const Driver& driver = cublas.driver_;
  for (std::size_t i = 0; i < 3; ++i) {
    // Sizes are below 2^31 each, so that this takes 93 bits at most.
    const base::Wide elements = base::Wide{leading[i]} * columns[i] * gemm.batch;
    if (elements > (base::Wide{1} << 42)) {
      return base::Fail(ErrorCode::kResourceExhausted, "a matrix is larger than any memory");
    }
    const auto bytes = static_cast<std::uint64_t>(elements) * BytesOf(types[i]);
    const CUresult result = driver.cuMemAlloc_v2(&call->matrices_[i], bytes);
    if (result != CUDA_SUCCESS) {
      return std::unexpected(driver.Check(result, "allocating a matrix").error());
    }
    call->strides_[i] = static_cast<long long>(leading[i] * columns[i]);
    if (auto filled = call->Fill(call->matrices_[i], bytes, types[i], stream); !filled) {
      return std::unexpected(filled.error());
    }
  }
  const CUresult done = driver.cuStreamSynchronize(stream);
  if (done != CUDA_SUCCESS) {
    return std::unexpected(driver.Check(done, "filling a matrix").error());
  }
  return call;
}

GemmCall::~GemmCall() {
  for (const CUdeviceptr matrix : matrices_) {
    if (matrix != 0) cublas_.driver_.cuMemFree_v2(matrix);
  }
}

// The pattern once from the host, then doubled on the GPU.
Result<void> GemmCall::Fill(CUdeviceptr matrix, std::uint64_t bytes, std::uint32_t type,
                            CUstream stream) {
  const Driver& driver = cublas_.driver_;
  const auto pattern = PatternOf(type, std::min(bytes, kPatternBytes));
  CUresult result = driver.cuMemcpyHtoDAsync_v2(matrix, pattern.data(), pattern.size(), stream);
  if (result == CUDA_SUCCESS) result = driver.cuStreamSynchronize(stream);  // The pattern goes.
  for (std::uint64_t done = pattern.size(); result == CUDA_SUCCESS && done < bytes; done *= 2) {
    result =
        driver.cuMemcpyDtoDAsync_v2(matrix + done, matrix, std::min(done, bytes - done), stream);
  }
  return driver.Check(result, "filling a matrix");
}

Result<void> GemmCall::Enqueue(CUstream stream) {
  auto set = CheckBlas(cublas_.set_stream_(cublas_.handle_, stream), "choosing the stream");
  if (!set) return set;
  set =
      CheckBlas(cublas_.set_workspace_(cublas_.handle_, reinterpret_cast<void*>(cublas_.workspace_),
                                       kWorkspaceBytes),
                "giving a workspace");
  if (!set) return set;
  const auto operation = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const auto at = [&](std::size_t i) { return reinterpret_cast<void*>(matrices_[i]); };
  const auto type = [](std::uint32_t number) { return static_cast<cudaDataType>(number); };
  return CheckBlas(
      cublas_.gemm_(cublas_.handle_, operation(gemm_.transpose_a), operation(gemm_.transpose_b),
                    static_cast<int>(gemm_.m), static_cast<int>(gemm_.n), static_cast<int>(gemm_.k),
                    alpha_.data(), at(0), type(gemm_.type_a), static_cast<int>(gemm_.lda),
                    strides_[0], at(1), type(gemm_.type_b), static_cast<int>(gemm_.ldb),
                    strides_[1], beta_.data(), at(2), type(gemm_.type_c),
                    static_cast<int>(gemm_.ldc), strides_[2], static_cast<int>(gemm_.batch),
                    static_cast<cublasComputeType_t>(gemm_.compute_type), CUBLAS_GEMM_DEFAULT),
      "calling the product");
}

}  // namespace eidolon::timing::replay
