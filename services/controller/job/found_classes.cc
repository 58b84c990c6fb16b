#include "services/controller/job/found_classes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using nlohmann::json;

// Number of dimensions of a mesh: pipeline, tensor, expert, data in two levels, and one to spare.
constexpr std::size_t kDimensionsMax = 6;

std::optional<std::uint32_t> ReadCount(const json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_number_integer()) return std::nullopt;
  const auto number = found->get<std::int64_t>();
  if (number < 1 || number > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(number);
}

}  // namespace

std::optional<FoundClasses> FindClasses(const Verdict& verdict,
                                        std::span<const folding::Dimension> known,
                                        std::span<const folding::Dimension> differ_by) {
  if (verdict.reason != reason::kRanksDiffer) return std::nullopt;
  FoundClasses found{.dimensions = {known.begin(), known.end()}, .message = {}};
  for (const folding::Dimension& dimension : differ_by) {
    if (std::ranges::count(found.dimensions, dimension) == 0) found.dimensions.push_back(dimension);
  }
  if (found.dimensions.size() == known.size() || found.dimensions.size() > kDimensionsMax) {
    return std::nullopt;
  }
  const folding::Dimension& last = found.dimensions.back();
  found.message =
      base::StrCat("ranks differ by their position in steps of ", last.stride, " (", last.size,
                   " positions), so it starts again with live ranks of each: ", verdict.message);
  return found;
}

json ToJson(std::span<const folding::Dimension> dimensions) {
  json list = json::array();
  for (const folding::Dimension& dimension : dimensions) {
    list.push_back({{"stride", dimension.stride}, {"size", dimension.size}});
  }
  return list;
}

std::vector<folding::Dimension> DimensionsFromJson(const json& list) {
  std::vector<folding::Dimension> dimensions;
  if (!list.is_array()) return dimensions;
  for (const json& entry : list) {
    if (!entry.is_object()) continue;
    const auto stride = ReadCount(entry, "stride"), size = ReadCount(entry, "size");
    if (stride && size) dimensions.push_back({.stride = *stride, .size = *size});
  }
  return dimensions;
}

}  // namespace eidolon::controller::job
