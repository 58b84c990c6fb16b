// A GEMM again, by its shape, through the real cuBLAS: loaded at run time, like the
// driver.
#pragma once

#include <cublas_v2.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// Owns a handle and its workspace. Not thread safe. The driver outlives it; the context is current.
class Cublas {
 public:
  // `folder` holds libcublas; empty: where the loader looks.
  static base::Result<std::unique_ptr<Cublas>> Open(const Driver& driver, const std::string& folder,
                                                    std::uint32_t compute_major);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  std::string version() const;

 private:
  friend class GemmCall;
  explicit Cublas(const Driver& driver) : driver_(driver) {}

  const Driver& driver_;
  decltype(&::cublasCreate_v2) create_ = nullptr;
  decltype(&::cublasDestroy_v2) destroy_ = nullptr;
  decltype(&::cublasGetVersion_v2) get_version_ = nullptr;
  decltype(&::cublasSetStream_v2) set_stream_ = nullptr;
  decltype(&::cublasSetWorkspace_v2) set_workspace_ = nullptr;
  // cublasGemmStridedBatchedEx, which the header overloads.
  using GemmFunction = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int,
                                          int, int, const void*, const void*, cudaDataType, int,
                                          long long, const void*, cudaDataType, int, long long,
                                          const void*, void*, cudaDataType, int, long long, int,
                                          cublasComputeType_t, cublasGemmAlgo_t);
  GemmFunction gemm_ = nullptr;
  cublasHandle_t handle_ = nullptr;
  CUdeviceptr workspace_ = 0;
  std::uint64_t workspace_bytes_ = 0;
};

// A GEMM that is ready to be repeated, with matrices of its own.
class GemmCall {
 public:
  // Refuses what the call of a plain batched GEMM cannot say: epilogues, scaled types, complex
  // numbers, arrays of pointers.
  static base::Result<std::unique_ptr<GemmCall>> Prepare(Cublas& cublas, const kernel::Gemm& gemm,
                                                         CUstream stream);

  base::Result<void> Enqueue(CUstream stream);

 private:
  GemmCall(Cublas& cublas, const kernel::Gemm& gemm) : cublas_(cublas), gemm_(gemm) {}

  Cublas& cublas_;
  const kernel::Gemm gemm_;
  std::array<Operand, 3> matrices_;     // A, B, C.
  std::array<long long, 3> strides_{};  // Elements.
  Scalar alpha_, beta_;
};

}  // namespace eidolon::timing::replay
