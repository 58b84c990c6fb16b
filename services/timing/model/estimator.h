// Estimates the duration of a work item: measured, else interpolated between measured neighbours,
// else modelled by the family's formula, else assumed.
#pragma once

#include <string>

#include "services/timing/gpu_model/gpu_model.h"
#include "services/timing/kernel/recognise.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/model/estimate.h"
#include "services/timing/model/measurements.h"

namespace eidolon::timing::model {

// `own` with a duration that changes as a model's does, which says `seconds` for the GPU's own
// clock and `scaled_seconds` for `clock` times as much.
Estimate CarriedToClock(const Estimate& own, double seconds, double scaled_seconds, double clock);

// Thread safe. Equal items give equal answers in every process, as long as the profiles are equal.
class Estimator {
 public:
  // `measurements` may be null; else it outlives the estimator.
  explicit Estimator(const Measurements* measurements) : measurements_(measurements) {}

  // Estimates with the item's purpose (counts.h).
  Estimate Of(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item);

  // `own`, the estimate for `gpu`, carried to the same GPU at another clock (gpu_model/at_clock.h):
  // what was measured and what is modelled change by as much as the model does between the two,
  // from nothing (bound by memory) to the clock's whole ratio (bound by arithmetic). The error
  // grows by the standard deviation of not knowing at all where between the two it lies.
  Estimate AtClock(const Estimate& own, const gpu_model::GpuModel& gpu,
                   const gpu_model::GpuModel& scaled, const kernel::WorkItem& item);

  // One number that grows with the item's work: what profiles order a class by.
  double SizeOf(const kernel::WorkItem& item);

 private:
  Estimate Timed(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item);
  Estimate Modelled(const gpu_model::GpuModel& gpu, const kernel::WorkItem& item);
  Estimate KernelTime(const gpu_model::GpuModel& gpu, const kernel::KernelLaunch& launch);

  const Measurements* measurements_;
  kernel::KernelNames names_;
};

}  // namespace eidolon::timing::model
