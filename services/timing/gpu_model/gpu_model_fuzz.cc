// Any bytes as a GPU model file: a model or an error, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/timing/gpu_model/gpu_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(eidolon::timing::gpu_model::ParseGpuModel(text, "fuzz.yaml"));
  return 0;
}
