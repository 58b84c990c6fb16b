// A copy or a memset again, on memory of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"

namespace eidolon::timing::replay {

// Owns its memory. The driver outlives it; the context is current in every call.
class CopyCall {
 public:
  // Refuses copies that need another GPU, or no GPU.
  static base::Result<std::unique_ptr<CopyCall>> Prepare(const Driver& driver,
                                                         const kernel::Copy& copy);
  ~CopyCall();
  CopyCall(const CopyCall&) = delete;
  CopyCall& operator=(const CopyCall&) = delete;

  base::Result<void> Enqueue(CUstream stream);
  // The host takes part: not to be captured.
  bool pageable() const { return !pageable_.empty(); }
  // Enqueue comes back when the copy has ended: one to pageable memory, and one from there that is
  // too large for the driver to put it aside at once.
  bool waits() const;

 private:
  CopyCall(const Driver& driver, const kernel::Copy& copy) : driver_(driver), copy_(copy) {}
  base::Result<void> Allocate();
  CUresult EnqueueFlat(CUstream stream);
  CUresult EnqueueRows(CUstream stream);

  const Driver& driver_;
  const kernel::Copy copy_;
  std::uint64_t rows_ = 1;
  std::uint64_t pitch_ = 0;  // From row to row, on both sides.
  CUdeviceptr to_ = 0, from_ = 0;
  void* host_ = nullptr;  // Page-locked, or the next:
  std::vector<unsigned char> pageable_;
};

}  // namespace eidolon::timing::replay
