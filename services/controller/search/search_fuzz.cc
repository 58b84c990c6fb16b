// Any text as a search: refused with problems, or a grid whose points are named and filled in.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "services/base/check.h"
#include "services/controller/job/document.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace eidolon::controller;
  const auto documents = job::ParseYaml({reinterpret_cast<const char*>(data), size});
  if (!documents || documents->empty()) return 0;
  const search::ParsedSearch parsed = search::ParseSearch(documents->front());
  for (const job::Problem& problem : parsed.problems) CHECK(!problem.detail.empty());
  if (!parsed.problems.empty()) return 0;
  std::size_t combinations = 1;
  for (const auto& [name, values] : parsed.spec.space) combinations *= values.size();
  CHECK(combinations > 0 && combinations <= search::kCombinationsMax);
  if (combinations > 64) return 0;  // Each point is a job that is parsed.
  job::Problems problems;
  const search::Grid grid = search::MakeGrid(parsed.spec, &problems);
  if (!problems.empty()) return 0;
  std::size_t cut = 0;
  for (const search::Cut& each : grid.cuts) cut += each.points;
  CHECK(grid.combinations == combinations && cut + grid.points.size() == combinations);
  for (const search::Point& point : grid.points)
    CHECK(!point.name.empty() && point.job.is_object());
  return 0;
}
