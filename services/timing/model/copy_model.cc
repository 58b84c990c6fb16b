#include "services/timing/model/copy_model.h"

#include <algorithm>

#include "services/contract/workload/copy_kind.h"
#include "services/timing/model/memory_model.h"

namespace eidolon::timing::model {
namespace {

// Pinned copies reach 55 of 63 GB/s on PCIe 5 and 26 of 31.5 on PCIe 4 (bandwidthTest reports);
// pageable ones pass through a staging buffer that one CPU core fills.
constexpr double kPinnedShare = 0.85;
constexpr double kPageableBytesPerSecond = 11e9;
constexpr double kHostBytesPerSecond = 10e9;
constexpr double kNvlinkShare = 0.85;
constexpr double kEngineSeconds = 1.3e-6;  // Start of a copy engine, small copies in traces.
constexpr double kRowOverheadBytes = 64;   // A row of a 2D copy costs as if it were longer by this.

double LinkRate(const gpu_model::GpuModel& gpu, const kernel::Copy& copy) {
  const double pcie = static_cast<double>(gpu.pcie_bytes_per_second) * kPinnedShare;
  switch (copy.kind) {
    case workload::CopyKind::kHostToDevice:
    case workload::CopyKind::kDeviceToHost:
      return copy.pinned ? pcie : std::min(pcie, kPageableBytesPerSecond);
    case workload::CopyKind::kPeer:
      return gpu.nvlink_bytes_per_second > 0
                 ? static_cast<double>(gpu.nvlink_bytes_per_second) * kNvlinkShare
                 : pcie;
    default:
      return kHostBytesPerSecond;
  }
}

}  // namespace

Prediction PredictCopy(const gpu_model::GpuModel& gpu, const kernel::Copy& copy) {
  double bytes = static_cast<double>(copy.bytes);
  if (copy.row_bytes > 0 && copy.row_bytes < copy.bytes) {
    bytes += bytes / static_cast<double>(copy.row_bytes) * kRowOverheadBytes;
  }
  Prediction prediction;
  prediction.relative_error = 0.15;
  switch (copy.kind) {
    case workload::CopyKind::kDeviceToDevice:
      prediction.seconds = kEngineSeconds + MemorySeconds(gpu, 2 * bytes, 0.95);
      break;
    case workload::CopyKind::kMemset:
      prediction.seconds = kEngineSeconds + MemorySeconds(gpu, bytes, 0.95);
      break;
    default:
      prediction.seconds = kEngineSeconds + bytes / LinkRate(gpu, copy);
      if (!copy.pinned) prediction.relative_error = 0.4;
  }
  if (copy.kind == workload::CopyKind::kUnspecified) prediction.source = estimate::Source::kAssumed;
  return prediction;
}

}  // namespace eidolon::timing::model
