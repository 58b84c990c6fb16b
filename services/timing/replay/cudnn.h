// The real cuDNN, loaded at run time, and its backend descriptors.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

// Exported functions.
#define EIDOLON_CUDNN_CALLS(ROW)     \
  ROW(cudnnCreate)                   \
  ROW(cudnnDestroy)                  \
  ROW(cudnnGetVersion)               \
  ROW(cudnnSetStream)                \
  ROW(cudnnBackendCreateDescriptor)  \
  ROW(cudnnBackendDestroyDescriptor) \
  ROW(cudnnBackendSetAttribute)      \
  ROW(cudnnBackendGetAttribute)      \
  ROW(cudnnBackendFinalize)          \
  ROW(cudnnBackendExecute)

// A backend descriptor, destroyed with its owner.
using DnnDescriptor = std::unique_ptr<void, std::function<void(void*)>>;

// Owns a handle. Not thread safe. The driver outlives it; the context is current.
class Cudnn {
 public:
  // `folder` holds libcudnn; empty: where the loader looks.
  static base::Result<std::unique_ptr<Cudnn>> Open(const Driver& driver, const std::string& folder);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  // "cudnn 9.20.1".
  std::string version() const;

  const Driver& driver() const { return driver_; }
  cudnnHandle_t handle() const { return handle_; }

  // Backend descriptors: made, told, and finished. `doing` is for the error.
  base::Result<DnnDescriptor> Make(cudnnBackendDescriptorType_t type) const;
  base::Result<void> Set(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                         cudnnBackendAttributeType_t type, std::int64_t count,
                         const void* values) const;
  base::Result<void> Refer(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                           const DnnDescriptor& to) const;
  base::Result<void> Finish(const DnnDescriptor& descriptor, const char* doing) const;
  // An error unless the status is success; kUnavailable when an execution failed.
  static base::Result<void> Check(cudnnStatus_t status, const char* doing);

#define EIDOLON_DECLARE_CALL(function) decltype(&::function) function = nullptr;
  EIDOLON_CUDNN_CALLS(EIDOLON_DECLARE_CALL)
#undef EIDOLON_DECLARE_CALL

 private:
  explicit Cudnn(const Driver& driver) : driver_(driver) {}
  const Driver& driver_;
  cudnnHandle_t handle_ = nullptr;
};

// Bytes of one element of a cudnnBackendAttributeType_t; that of enumerations for unknown types.
std::size_t DnnElementBytes(std::uint32_t type);

// Elements from a tensor's first to its last. Requires: as many strides as dims; dims of 1 or more,
// strides of 0 or more.
base::Wide DnnExtentOf(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides);

}  // namespace eidolon::timing::replay
