// Any bytes as a file of published logs: refused with the line, or read within its limits.
#include <cstddef>
#include <cstdint>

#include "services/base/check.h"
#include "services/network/validation/log_set.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::network::validation;
  const auto sets = ParseLogSets({reinterpret_cast<const char*>(data), size});
  if (!sets) {
    CHECK(sets.error().message.find("line ") != std::string::npos);
    return 0;
  }
  for (const LogSet& set : *sets) {
    CHECK(set.nodes >= 1 && set.members >= 1);
    for (const Point& point : set.points) CHECK(point.bytes >= 1 && point.us > 0);
  }
  return 0;
}
