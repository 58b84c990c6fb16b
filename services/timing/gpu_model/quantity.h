// Numbers with a unit, as GPU model files write them: "3.35 TB/s", "50 MiB", "1980 MHz".
#pragma once

#include <string_view>

#include "services/base/error.h"

namespace eidolon::timing::gpu_model {

enum class Dimension { kCount, kFrequency, kBits, kBytes, kBytesPerSecond, kPower, kTime, kFlops };

// The number in base units (1, Hz, bits, bytes, bytes/s, W, s, operations/s). A missing or foreign
// unit is an error that names the allowed ones; counts carry no unit.
base::Result<double> ParseQuantity(std::string_view text, Dimension dimension);

}  // namespace eidolon::timing::gpu_model
