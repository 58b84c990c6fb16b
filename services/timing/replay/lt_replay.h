// A GEMM with an epilogue, or of scaled eight-bit numbers, again by its shape: through
// the real cuBLASLt, loaded at run time, with the algorithm that its own heuristic puts first for
// the workspace that PyTorch gives.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>
#include <string>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"
#include "services/timing/replay/operand.h"

namespace eidolon::timing::replay {

// Row: member, exported function.
#define EIDOLON_CUBLAS_LT_CALLS(ROW)                        \
  ROW(create, cublasLtCreate)                               \
  ROW(destroy, cublasLtDestroy)                             \
  ROW(version, cublasLtGetVersion)                          \
  ROW(create_layout, cublasLtMatrixLayoutCreate)            \
  ROW(destroy_layout, cublasLtMatrixLayoutDestroy)          \
  ROW(set_layout, cublasLtMatrixLayoutSetAttribute)         \
  ROW(create_desc, cublasLtMatmulDescCreate)                \
  ROW(destroy_desc, cublasLtMatmulDescDestroy)              \
  ROW(set_desc, cublasLtMatmulDescSetAttribute)             \
  ROW(create_preference, cublasLtMatmulPreferenceCreate)    \
  ROW(destroy_preference, cublasLtMatmulPreferenceDestroy)  \
  ROW(set_preference, cublasLtMatmulPreferenceSetAttribute) \
  ROW(heuristic, cublasLtMatmulAlgoGetHeuristic)            \
  ROW(matmul, cublasLtMatmul)

// Owns a handle and its workspace. Not thread safe. The driver outlives it; the context is current.
class CublasLt {
 public:
  // `folder` holds libcublasLt; empty: where the loader looks. The workspace is PyTorch's on GPUs
  // of this compute capability.
  static base::Result<std::unique_ptr<CublasLt>> Open(const Driver& driver,
                                                      const std::string& folder,
                                                      std::uint32_t compute_major);
  ~CublasLt();
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // "cublasLt 13.4.1".
  std::string version() const;

 private:
  friend class LtCall;
  explicit CublasLt(const Driver& driver) : driver_(driver) {}

  struct Functions {
#define EIDOLON_DECLARE_CALL(member, function) decltype(&::function) member = nullptr;
    EIDOLON_CUBLAS_LT_CALLS(EIDOLON_DECLARE_CALL)
#undef EIDOLON_DECLARE_CALL
  };

  const Driver& driver_;
  Functions lt_;
  cublasLtHandle_t handle_ = nullptr;
  CUdeviceptr workspace_ = 0;
  std::size_t workspace_bytes_ = 0;
};

// True when the plain GEMM of cuBLAS cannot say it, but cuBLASLt might.
bool NeedsLt(const kernel::Gemm& gemm);

// A GEMM that is ready to be repeated, with operands of its own: matrices, bias, the auxiliary
// matrix of activations, scaling factors.
class LtCall {
 public:
  // Refuses arrays of pointers, complex numbers, scaling by blocks of 128, and epilogues without a
  // number of their own.
  static base::Result<std::unique_ptr<LtCall>> Prepare(CublasLt& lt, const kernel::Gemm& gemm,
                                                       CUstream stream);
  ~LtCall();
  LtCall(const LtCall&) = delete;
  LtCall& operator=(const LtCall&) = delete;

  base::Result<void> Enqueue(CUstream stream);

 private:
  LtCall(CublasLt& lt, const kernel::Gemm& gemm) : lt_(lt), gemm_(gemm) {}
  base::Result<void> MakeMatrices(CUstream stream);
  base::Result<void> Describe();
  base::Result<void> DescribeEpilogue(CUstream stream);
  base::Result<void> DescribeScaling(CUstream stream);
  base::Result<void> Choose();
  template <typename T>
  base::Result<void> Set(cublasLtMatmulDescAttributes_t attribute, const T& value);

  CublasLt& lt_;
  const kernel::Gemm gemm_;
  Scalar alpha_, beta_;
  Operand a_, b_, c_, d_;  // Without c_ the GEMM is in place.
  Operand bias_, aux_, scale_a_, scale_b_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t layout_a_ = nullptr, layout_b_ = nullptr, layout_c_ = nullptr,
                         layout_d_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace eidolon::timing::replay
