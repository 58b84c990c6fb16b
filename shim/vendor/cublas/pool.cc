#include "shim/vendor/cublas/pool.h"

#include <array>
#include <atomic>
#include <cstdint>

#include "shim/gpu/device/device.h"
#include "shim/gpu/memory/memory.h"
#include "shim/gpu/stream/stream.h"
#include "shim/gpu/stream/submit.h"
#include "shim/vendor/cublas/handle.h"

namespace eidolon::shim::cublas {
namespace {

std::array<std::atomic<bool>, ring::kMaxDevices> booked{};

// Returns the size as documented for cublasSetWorkspace: 32 MiB since Hopper, 4 MiB before.
std::int64_t PoolBytes(int device) {
  return gpu::PropertiesOf(device).compute_major >= 9 ? 32 << 20 : 4 << 20;
}

}  // namespace

bool BookPool(const Context& context) {
  if (context.workspace != nullptr) return true;
  const int device = gpu::DeviceOf(context.stream);
  if (device < 0 || device >= ring::kMaxDevices || device >= gpu::DeviceCount()) return true;
  if (booked[static_cast<std::size_t>(device)].exchange(true)) return true;
  const gpu::Status status = gpu::Book(device, ring::MemoryCategory::kWorkspace, PoolBytes(device));
  if (status == gpu::Status::kSuccess) return true;
  booked[static_cast<std::size_t>(device)].store(false);
  return false;
}

}  // namespace eidolon::shim::cublas
