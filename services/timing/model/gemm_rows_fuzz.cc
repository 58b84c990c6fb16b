// Any bytes as rows of GEMMs: rows or an error, never a crash.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/timing/model/gemm_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(eidolon::timing::model::ParseGemmRows(text));
  return 0;
}
