// A counted launch as it is kept on disk: a line for each field, "name value".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "services/base/error.h"
#include "services/timing/count/counts.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::count {

struct Record {
  std::string name;  // Mangled.
  std::string gpu;   // GPU model that it was counted for.
  kernel::Dim3 grid{1, 1, 1};
  kernel::Dim3 block{1, 1, 1};
  std::uint32_t shared_bytes = 0;  // Static and dynamic.
  std::uint32_t registers = 0;     // A thread's.
  Counts counts;
};

std::string FormatRecord(const Record& record);

// kCorrupt names the line; records of another version are refused as well.
base::Result<Record> ParseRecord(std::string_view text);

}  // namespace eidolon::timing::count
