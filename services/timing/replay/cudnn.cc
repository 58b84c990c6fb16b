// cuDNN is loaded at run time and only by the worker: the service itself has to start on machines
// without it. A missing symbol means another major version, which is refused as a whole. A status
// of a failed execution means that the GPU's context is lost (kUnavailable), after which nothing
// can succeed and the worker ends; all other failures cost the item alone.
#include "services/timing/replay/cudnn.h"

#include <dlfcn.h>

#include "services/base/text.h"
#include "services/contract/cudnn_numbers/attribute.h"
#include "services/timing/replay/vendor_library.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;
using base::Wide;

namespace {

constexpr const char* kLibrary = "libcudnn.so.9";

}  // namespace

Result<void> Cudnn::Check(cudnnStatus_t status, const char* doing) {
  if (status == CUDNN_STATUS_SUCCESS) return {};
  const bool failed = status / 1000 * 1000 == CUDNN_STATUS_EXECUTION_FAILED;
  return base::Fail(failed ? ErrorCode::kUnavailable : ErrorCode::kInternal,
                    StrCat(doing, ": cuDNN status ", static_cast<int>(status)));
}

Result<std::unique_ptr<Cudnn>> Cudnn::Open(const Driver& driver, const std::string& folder) {
  const auto loaded = LoadVendorLibrary(folder, kLibrary, "cuDNN");
  if (!loaded) return std::unexpected(loaded.error());
  const auto& [library, path] = *loaded;
  std::unique_ptr<Cudnn> cudnn(new Cudnn(driver));
#define EIDOLON_FIND_CALL(name)                                                        \
  cudnn->name = reinterpret_cast<decltype(cudnn->name)>(dlsym(library, #name));        \
  if (cudnn->name == nullptr) {                                                        \
    return base::Fail(ErrorCode::kUnsupported, StrCat("'", path, "' is not cuDNN 9")); \
  }
  EIDOLON_CUDNN_CALLS(EIDOLON_FIND_CALL)
#undef EIDOLON_FIND_CALL
  if (auto made = Cudnn::Check(cudnn->cudnnCreate(&cudnn->handle_), "creating a handle"); !made) {
    return std::unexpected(made.error());
  }
  return cudnn;
}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) cudnnDestroy(handle_);
}

std::string Cudnn::version() const {
  const std::size_t version = cudnnGetVersion();
  return StrCat("cudnn ", version / 10000, ".", version / 100 % 100, ".", version % 100);
}

Result<DnnDescriptor> Cudnn::Make(cudnnBackendDescriptorType_t type) const {
  cudnnBackendDescriptor_t raw = nullptr;
  const auto made = Check(cudnnBackendCreateDescriptor(type, &raw), "creating a descriptor");
  if (!made) return std::unexpected(made.error());
  return DnnDescriptor(
      raw, [destroy = cudnnBackendDestroyDescriptor](void* descriptor) { destroy(descriptor); });
}

Result<void> Cudnn::Finish(const DnnDescriptor& descriptor, const char* doing) const {
  return Check(cudnnBackendFinalize(descriptor.get()), doing);
}

Result<void> Cudnn::Set(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, std::int64_t count,
                        const void* values) const {
  return Check(cudnnBackendSetAttribute(descriptor.get(), name, type, count, values),
               "describing it");
}

Result<void> Cudnn::Refer(const DnnDescriptor& descriptor, cudnnBackendAttributeName_t name,
                          const DnnDescriptor& to) const {
  cudnnBackendDescriptor_t raw = to.get();
  return Set(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

std::size_t DnnElementBytes(std::uint32_t type) {
  const std::size_t bytes = cudnn_numbers::ElementBytes(type);
  return bytes == 0 ? sizeof(int) : bytes;
}

Wide DnnExtentOf(std::span<const std::int64_t> dims, std::span<const std::int64_t> strides) {
  Wide last = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    last += Wide{static_cast<std::uint64_t>(dims[i] - 1)} * static_cast<std::uint64_t>(strides[i]);
  }
  return last + 1;
}

}  // namespace eidolon::timing::replay
