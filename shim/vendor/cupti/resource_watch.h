// Who is told of the program's objects and memory for a profiler: makes activity records of them
// and passes them on to the subscriber's function.
#pragma once

#include <cupti.h>

#include <bitset>
#include <mutex>

#include "services/contract/ring/layout.h"
#include "shim/core/resource_observer.h"

namespace eidolon::shim::cupti {

// All threads; one per process. Contexts are told apart by their devices alone, as in all records.
class ResourceWatch final : public core::ResourceObserver {
 public:
  static ResourceWatch& Get();

  // Is told of changes while records of them or callbacks are wanted. To be called when that has
  // changed.
  void Follow();
  // Records of this kind are wanted from now on: of what is there already, these are made at once.
  void Begin(CUpti_ActivityKind kind);

  void ResourceChanged(const core::ResourceChange& change) noexcept override;
  void MemoryChanged(const core::MemoryChange& change) noexcept override;
  void PoolChanged(const core::PoolChange& change) noexcept override;
  void StreamSynchronized(void* context, void* stream) noexcept override;
  void ContextSynchronized(void* context) noexcept override;

 private:
  ResourceWatch() = default;
  using Devices = std::bitset<ring::kMaxDevices>;
  // The device is in use: its context and its default stream are there.
  void DescribeContext(int device);

  std::mutex mutex_;  // Guards what follows: devices of which there is a record.
  Devices contexts_;
  Devices default_streams_;
};

}  // namespace eidolon::shim::cupti
