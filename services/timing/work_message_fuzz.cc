// Any bytes as a work item from the wire: refused, or given a duration that can be added up.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/timing/gpu_model/gpu_catalog.h"
#include "services/timing/kernel/work_key.h"
#include "services/timing/model/estimator.h"
#include "services/timing/work_messages.h"

namespace {

namespace timing = eidolon::timing;

const timing::gpu_model::GpuModel& Gpu() {
  static const auto catalog = *timing::gpu_model::GpuCatalog::Load("");
  return **catalog.Find("H100-SXM5-80GB");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  timing::v1::WorkItem message;
  if (!message.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto item = timing::FromMessage(message);
  if (!item) {
    CHECK(!item.error().message.empty());
    return 0;
  }
  static timing::model::Estimator estimator(nullptr);
  const auto estimate = estimator.Of(Gpu(), *item);
  CHECK(estimate.duration.ps > 0);
  CHECK(std::isfinite(estimate.relative_error) && estimate.relative_error >= 0);
  CHECK(std::isfinite(estimator.SizeOf(*item)));
  return 0;
}
