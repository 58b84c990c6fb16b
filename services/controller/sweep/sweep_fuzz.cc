// Any text as a sweep: refused with a sentence, or a matrix whose points can be named and applied.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/sweep/sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::controller::sweep;
  const auto spec = ParseSweepFile({reinterpret_cast<const char*>(data), size});
  if (!spec) {
    CHECK(!spec.error().message.empty());
    return 0;
  }
  const auto points = PointsOf(*spec);
  CHECK(!points.empty() && points.size() <= kSweepPointsMax);
  for (const SweepPoint& point : points) {
    CHECK(point.size() == spec->matrix.size());
    nlohmann::json job = nlohmann::json::object();
    ApplyPoint(point, &job);
    CHECK(job["spec"].is_object());
  }
  return 0;
}
