// A line holds many times: the sizes that they share stand once, and times are small differences of
// logarithms, which compress well. Half a percent of resolution is below the two percent by which
// repeated measurements differ. The parser walks the text without splitting it into a list of lines
// and bounds each number and the number of rows; a file that is not understood is refused as a
// whole.
#include "services/timing/model/kernel_rows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "services/base/text.h"

namespace eidolon::timing::model {
namespace {

constexpr std::string_view kRowsVersion = "eidolon-kernel-rows 1";
constexpr std::size_t kColumnsMax = 8;
constexpr std::size_t kLastMax = 1000;
constexpr std::size_t kRowsMax = 2'000'000;
constexpr float kSizeMax = 1e9F;
constexpr int kStepsMax = 10'000;  // Longer than an hour.
constexpr double kSteps = 200;

std::unexpected<base::Error> InvalidRows(std::string_view what) {
  return base::Fail(base::ErrorCode::kInvalidArgument, base::StrCat("rows of kernels: ", what));
}

// The next word of `text`, taken off it; empty at the end.
std::string_view NextWord(std::string_view& text) {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return word;
}

std::optional<int> Whole(std::string_view word) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

// Positive sizes; nothing where a word is not one or there are too many.
std::optional<std::vector<float>> Sizes(std::string_view text, std::size_t most) {
  std::vector<float> sizes;
  while (!text.empty()) {
    const auto size = Whole(NextWord(text));
    if (!size || *size <= 0 || sizes.size() == most) return std::nullopt;
    sizes.push_back(std::min(static_cast<float>(*size), kSizeMax));
  }
  return sizes;
}

class Parser {
 public:
  // False: not to be understood.
  bool Line(std::string_view line) {
    if (!line.empty() && line.front() >= '0' && line.front() <= '9') return Row(line);
    const std::string_view word = NextWord(line);
    if (word == "gpu") rows_.gpu = line;
    if (word == "family") rows_.family = line;
    if (word == "roof") return Roof(line);
    if (word == "table") {
      last_.clear();
      rows_.tables.emplace_back().name = line;
    }
    if (word == "last") return Last(line);
    return !line.empty();
  }

  std::size_t rows() const { return count_; }
  KernelRows Take() { return std::move(rows_); }

 private:
  bool Roof(std::string_view line) {
    std::array<double, 3> numbers = {};
    for (double& number : numbers) {
      const auto parsed = base::ParseNumber(NextWord(line));
      if (!parsed || !(*parsed > 0) || *parsed > 1e12) return false;
      number = *parsed;
    }
    rows_.bandwidth = numbers[0] * 1e9;
    rows_.rate = numbers[1] * 1e9;
    rows_.clock = numbers[2] * 1e6;
    return line.empty();
  }

  bool Last(std::string_view line) {
    auto sizes = Sizes(line, kLastMax);
    if (!sizes || rows_.tables.empty()) return false;
    last_ = std::move(*sizes);
    return true;
  }

  bool Row(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || rows_.tables.empty()) return false;
    const auto first = Sizes(line.substr(0, colon), kColumnsMax - 1);
    if (!first) return false;
    KernelTable& table = rows_.tables.back();
    if (table.columns == 0) table.columns = first->size() + 1;
    if (table.columns != first->size() + 1) return false;
    std::string_view times = line.substr(colon + 1);
    int level = 0;
    for (std::size_t i = 0; !times.empty(); ++i) {
      const std::string_view word = NextWord(times);
      if (i == last_.size()) return false;
      if (word == "-") continue;
      const auto steps = Whole(word);
      if (!steps || *steps > kStepsMax || *steps < -kStepsMax) return false;
      level += *steps;
      if (level < 0 || level > kStepsMax || ++count_ > kRowsMax) return false;
      table.sizes.insert(table.sizes.end(), first->begin(), first->end());
      table.sizes.push_back(last_[i]);
      table.log_seconds.push_back(static_cast<float>(level / kSteps + std::log(1e-9)));
    }
    return true;
  }

  KernelRows rows_;
  std::vector<float> last_;
  std::size_t count_ = 0;
};

}  // namespace

base::Result<KernelRows> ParseKernelRows(std::string_view text) {
  const std::size_t head = text.find('\n');
  if (text.substr(0, head) != kRowsVersion)
    return InvalidRows(base::StrCat("not '", kRowsVersion, "'"));
  if (head != std::string_view::npos) text.remove_prefix(head + 1);
  Parser parser;
  for (std::size_t line = 2; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    if (!parser.Line(text.substr(0, end))) {
      return InvalidRows(base::StrCat("line ", line, " is not understood"));
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  if (parser.rows() == 0) return InvalidRows("nothing was measured");
  KernelRows rows = parser.Take();
  if (rows.gpu.empty() || rows.family.empty() || rows.rate == 0) {
    return InvalidRows("gpu, family or roof is missing");
  }
  for (const KernelTable& table : rows.tables) {
    if (table.size() == 0) return InvalidRows(base::StrCat("table ", table.name, " has no times"));
  }
  return rows;
}

}  // namespace eidolon::timing::model
