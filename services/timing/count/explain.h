// A counted kernel for people: text, and a roofline as a drawing.
#pragma once

#include <string>

#include "services/timing/count/record.h"
#include "services/timing/gpu_model/gpu_model.h"

namespace eidolon::timing::count {

// Some twenty lines: the launch, its time and error, what bounds it, and the counts behind that.
std::string ExplainText(const Record& record, const gpu_model::GpuModel& gpu);

// An SVG document: operations a second over operations a byte of device memory, with the GPU's
// bandwidth, the rates of its tensor cores and of single precision, and the kernel.
std::string RooflineSvg(const Record& record, const gpu_model::GpuModel& gpu);

}  // namespace eidolon::timing::count
