#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/check.h"
#include "services/timing/count/record.h"

// What was read is written as it was.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using eidolon::timing::count::FormatRecord;
  using eidolon::timing::count::ParseRecord;
  const auto record = ParseRecord({reinterpret_cast<const char*>(data), size});
  if (!record) return 0;
  const std::string text = FormatRecord(*record);
  const auto again = ParseRecord(text);
  CHECK(again && FormatRecord(*again) == text);
  return 0;
}
