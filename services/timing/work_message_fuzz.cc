// Any bytes as a work definition from the wire: refused, or given a duration that can be added up,
// and written again as what was read.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "services/base/check.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/work_key.h"
#include "services/timing/model/estimator.h"

namespace {

namespace timing = eidolon::timing;

const timing::gpu_model::GpuModel& Gpu() {
  static const auto catalog = *timing::gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto item = timing::kernel::ReadWork(std::as_bytes(std::span(data, size)));
  if (!item) {
    CHECK(!item.error().message.empty());
    return 0;
  }
  const auto again = timing::kernel::ReadWork(timing::kernel::DefinitionOf(*item));
  CHECK(again.has_value());
  CHECK(timing::kernel::CanonicalBytes(*again) == timing::kernel::CanonicalBytes(*item));
  static timing::model::Estimator estimator(nullptr);
  const auto estimate = estimator.Of(Gpu(), *item);
  CHECK(estimate.duration.ps > 0);
  CHECK(std::isfinite(estimate.relative_error) && estimate.relative_error >= 0);
  CHECK(std::isfinite(estimator.SizeOf(*item)));
  return 0;
}
