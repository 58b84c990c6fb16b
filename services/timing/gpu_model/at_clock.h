// A GPU whose multiprocessors run at another clock: slower under a limit or when it is hot, faster
// in the mind of whoever asks what that would bring.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::gpu_model {

// The same GPU with its multiprocessors' clock, and all rates that go with it, times `scale`.
// Memory, links, copy engines and the times to start a kernel have clocks of their own and stay.
// Requires: a scale from machine::kClockMin to machine::kClockMax.
GpuModel AtClock(const GpuModel& gpu, double scale);

}  // namespace eidolon::timing::gpu_model
