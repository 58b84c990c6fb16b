// Computes the time of L2 for atomic operations whose lanes or warps meet in few words.
#pragma once

#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::gpu_model {

// Slices of L2, each with its part of every HBM bus. 0 where memory is no HBM.
double Slices(const GpuModel& gpu);

// `rounds`: for each request of a warp and each line of 128 bytes that it touches, the lanes that
// meet in its busiest word, summed over the launch. A slice takes them one after the other;
// `lines` are those that the running blocks touch at once, which fall on slices by chance.
double AtomicSeconds(const GpuModel& gpu, double rounds, double lines);

}  // namespace eidolon::timing::gpu_model
