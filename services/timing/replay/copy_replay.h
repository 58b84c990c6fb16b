// A copy or a memset again, on memory of its own.
#pragma once

#include <cstdint>
#include <memory>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

// Owns its memory. The driver outlives it; the context is current in every call.
class CopyCall {
 public:
  // Refuses copies that need another GPU, pageable memory, or rows.
  static base::Result<std::unique_ptr<CopyCall>> Prepare(const Driver& driver,
                                                         const kernel::Copy& copy);
  ~CopyCall();
  CopyCall(const CopyCall&) = delete;
  CopyCall& operator=(const CopyCall&) = delete;

  base::Result<void> Enqueue(CUstream stream);

 private:
  CopyCall(const Driver& driver, const kernel::Copy& copy) : driver_(driver), copy_(copy) {}

  const Driver& driver_;
  const kernel::Copy copy_;
  CUdeviceptr to_ = 0, from_ = 0;
  void* host_ = nullptr;
};

}  // namespace eidolon::timing::replay
