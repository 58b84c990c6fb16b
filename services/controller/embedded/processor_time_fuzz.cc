// The kernel's text about processors: any bytes are refused or give counts that fit each other.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/embedded/processor_time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::controller::embedded;
  const auto time = ParseProcessorTime(std::string_view(reinterpret_cast<const char*>(data), size));
  if (time) CHECK(time->busy <= time->all && time->processors > 0);
  return 0;
}
