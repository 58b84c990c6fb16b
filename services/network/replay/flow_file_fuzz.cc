// Fuzzes the reader of flow files, and plays what it accepts.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/network/replay/replay.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::network::replay;
  const auto file = ParseFlowFile({reinterpret_cast<const char*>(data), size});
  if (file) Replay(*file, {.processor_seconds = [] { return 0.0; }});
  return 0;
}
