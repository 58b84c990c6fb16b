// The files are built into the program, yet the parser trusts nothing in them and is fuzzed. All
// cells of the grid must be there, in order, so that a time needs no sizes beside it. Fields that
// are not known are skipped: sources and licences are for readers. Sizes along an axis have to
// rise, on which every look-up relies.
#include "services/timing/model/gemm_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::model {
namespace {

constexpr std::string_view kVersion = "eidolon-gemm-rows 1";
constexpr std::size_t kSizesMax = 1000;  // Of an axis.
constexpr std::size_t kCellsMax = 1'000'000;
constexpr double kMicrosecondsMax = 1e9;

std::unexpected<base::Error> Invalid(std::string_view what) {
  return base::Fail(base::ErrorCode::kInvalidArgument, base::StrCat("rows of GEMMs: ", what));
}

// Positive numbers, each above the one before when `rising`.
std::optional<std::vector<double>> Numbers(std::string_view text, bool rising) {
  std::vector<double> numbers;
  for (const std::string_view word : base::Split(text, ' ')) {
    const auto number = base::ParseNumber(word);
    if (!number || !(*number > 0) || *number > 1e12) return std::nullopt;
    if (rising && !numbers.empty() && *number <= numbers.back()) return std::nullopt;
    numbers.push_back(*number);
    if (numbers.size() > kSizesMax) return std::nullopt;
  }
  return numbers;
}

// A line before the rows: a word and its value. False: not to be understood.
bool ReadField(std::string_view line, GemmRows& rows) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view name = line.substr(0, space);
  const std::string_view value = line.substr(space + 1);
  if (name == "gpu") rows.gpu = value;
  if (name == "type") rows.type = value;
  if (name == "kernel") rows.kernel = value;
  if (name == "roof") {
    const auto numbers = Numbers(value, false);
    if (!numbers || numbers->size() != 3) return false;
    rows.bandwidth = (*numbers)[0] * 1e9;
    rows.rate = (*numbers)[1] * 1e9;
    rows.clock = (*numbers)[2] * 1e6;
  }
  constexpr std::string_view kAxes[] = {"m", "n", "k"};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (name != kAxes[axis]) continue;
    auto sizes = Numbers(value, true);
    if (!sizes) return false;
    rows.axes[axis] = std::move(*sizes);
  }
  return true;
}

bool ReadCell(std::string_view word, GemmRows& rows) {
  float time = 0;
  float spread = 0;
  if (word != "-") {
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return false;
    const auto number = base::ParseNumber(word.substr(0, colon));
    const auto percent = base::ParseInteger(word.substr(colon + 1));
    if (!number || !(*number > 0) || *number > kMicrosecondsMax) return false;
    if (!percent || *percent < 0 || *percent > 99) return false;
    time = static_cast<float>(*number);
    spread = static_cast<float>(*percent) / 100;
  }
  rows.microseconds.push_back(time);
  rows.spread.push_back(spread);
  return true;
}

bool Complete(const GemmRows& rows) {
  for (const auto& axis : rows.axes) {
    if (axis.empty()) return false;
  }
  return !rows.gpu.empty() && !rows.type.empty() && rows.bandwidth > 0 && rows.rate > 0;
}

}  // namespace

std::size_t GemmRows::Stride(std::size_t axis) const {
  if (axis == 0) return 1;
  return axis == 2 ? axes[0].size() : axes[0].size() * axes[2].size();
}

std::size_t GemmRows::measured() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(microseconds, [](float time) { return time > 0; }));
}

base::Result<GemmRows> ParseGemmRows(std::string_view text) {
  GemmRows rows;
  const std::vector<std::string_view> lines = base::Split(text, '\n');
  if (lines.front() != kVersion) return Invalid(base::StrCat("not '", kVersion, "'"));
  std::size_t line = 1;
  for (; line < lines.size() && lines[line] != "rows"; ++line) {
    if (!ReadField(lines[line], rows)) {
      return Invalid(base::StrCat("line ", line + 1, " is not understood"));
    }
  }
  if (!Complete(rows)) return Invalid("gpu, type, roof, m, n or k is missing");
  const std::size_t cells = rows.cells();
  if (cells > kCellsMax) return Invalid(base::StrCat(cells, " cells are too many"));
  rows.microseconds.reserve(cells);
  rows.spread.reserve(cells);
  for (++line; line < lines.size() && rows.microseconds.size() < cells; ++line) {
    for (const std::string_view word : base::Split(lines[line], ' ')) {
      if (!ReadCell(word, rows)) {
        return Invalid(base::StrCat("line ", line + 1, " has no time in '", word, "'"));
      }
    }
  }
  if (rows.microseconds.size() != cells) {
    return Invalid(base::StrCat(rows.microseconds.size(), " cells of ", cells));
  }
  if (rows.measured() == 0) return Invalid("nothing was measured");
  return rows;
}

}  // namespace eidolon::timing::model
