// Any text as a table of shares: a row has a number for each expert and some weight.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "services/agent/job/declared_values.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint64_t experts = data[0] % 8 + 1;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto rows = eidolon::agent::job::ParseShares(text, experts);
  if (!rows) return 0;
  for (const auto& row : *rows) {
    CHECK(row.size() == experts);
    CHECK(*std::ranges::max_element(row) > 0);
  }
  return 0;
}
