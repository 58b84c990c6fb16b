// Any bytes as rows of kernels and as the name of a table: rows, a class or an error, never a
// crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/timing/model/kernel_class.h"
#include "services/timing/model/kernel_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(eidolon::timing::model::ParseKernelRows(text));
  static_cast<void>(eidolon::timing::model::ParseKernelClass(text));
  return 0;
}
