// The text answers why a kernel takes its time, so each bound is shown as its share of the launch's
// time; shares do not add up to 100 %, because parts overlap. The drawing is written as text,
// without a library; names come from programs and are escaped. Both axes are logarithmic, hence
// zero operations or bytes are drawn as one, and points outside at the edge.
#include "services/timing/count/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "services/base/markup.h"
#include "services/base/text.h"
#include "services/contract/machine/machine.h"
#include "services/timing/count/bounds.h"
#include "services/timing/kernel/kernel_name.h"

namespace eidolon::timing::count {
namespace {

using base::StrCat;

std::string Fixed(double number, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  return text.data();
}

// "1.23 M": three digits and a unit.
std::string Short(double number) {
  constexpr std::array<std::string_view, 6> kUnits = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  while (number >= 1000 && unit + 1 < kUnits.size()) {
    number /= 1000;
    ++unit;
  }
  return StrCat(Fixed(number, number < 10 && unit > 0    ? 2
                              : number < 100 && unit > 0 ? 1
                                                         : 0),
                kUnits[unit]);
}

std::string Microseconds(double seconds) { return StrCat(Fixed(seconds * 1e6, 1), " us"); }

std::string Percent(double share) { return StrCat(Fixed(share * 100, 0), " %"); }

std::string Dims(const kernel::Dim3& dims) { return StrCat(dims.x, " x ", dims.y, " x ", dims.z); }

// Multiplications and additions of the whole launch.
double Operations(const Counts& counts) {
  return MatrixOperations(counts) + counts.block.lane_operations * counts.blocks;
}

std::string Instructions(const Counts& counts) {
  std::string text;
  const double all = counts.block.instructions();
  for (std::size_t i = 0; i < kPipes; ++i) {
    const double count = counts.block.issued[i];
    if (count < 0.005 * all) continue;
    text += StrCat(text.empty() ? "" : ", ", Name(static_cast<Pipe>(i)), " ", Percent(count / all));
  }
  return StrCat(Short(all), " a block: ", text);
}

std::string MatrixText(const Counts& counts) {
  std::string text;
  for (std::size_t i = 0; i < kMatrixTypes; ++i) {
    const double operations = counts.block.matrix_operations[i] * counts.blocks;
    if (operations == 0) continue;
    text += StrCat(text.empty() ? "" : ", ", Name(static_cast<MatrixType>(i)), " ",
                   Short(operations), "FLOP");
  }
  return text;
}

std::string Doubts(const Counts& counts) {
  std::string text;
  if (counts.depends_on_memory) {
    text += "\n  doubt      branches or addresses follow from what memory holds, taken as zeros";
  }
  if (counts.passed_over > 0) {
    text += StrCat("\n  doubt      ", Fixed(counts.passed_over * 100, 1),
                   " % of the instructions are counted without being run");
  }
  return text;
}

}  // namespace

std::string ExplainText(const Record& record, const gpu_model::GpuModel& gpu) {
  const Counts& counts = record.counts;
  const BlockCounts& block = counts.block;
  const CountedTime time = TimeOf(counts, gpu);
  std::string text = StrCat(
      kernel::ParseKernelName(record.name).full, "\n  on         ", gpu.name, "   grid ",
      Dims(record.grid), "   block ", Dims(record.block), "   ", record.registers, " registers   ",
      record.shared_bytes, " B shared\n  lasts      ", Microseconds(time.seconds), "   error ",
      Percent(time.relative_error), "   source modelled, from counts of ",
      Fixed(counts.sampled_blocks, 0), " of ", Short(counts.blocks), " blocks");
  text += "\n  bounds    ";
  for (const Bound& bound : time.bounds) {
    const double share = bound.seconds / time.seconds;
    if (share < 0.01) continue;
    text += StrCat(&bound == &time.bounds.front() ? " " : ", ", bound.name, " ", Percent(share));
  }
  text +=
      StrCat("\n  memory     ", Short(counts.bytes_read), "B read, ", Short(counts.bytes_written),
             "B written, each once; ",
             Short(block.missed_sectors * machine::kSectorBytes * counts.blocks), "B through L2; ",
             Fixed(block.missed_lines > 0 ? block.missed_sectors / block.missed_lines : 0, 1),
             " of 4 sectors a line");
  text += StrCat("\n  warps      ", Instructions(counts));
  if (MatrixOperations(counts) > 0) text += StrCat("\n  matrices   ", MatrixText(counts));
  text += StrCat("\n  block      ", Fixed(counts.warps, 0), " warps, ",
                 Fixed(counts.resident_blocks, 0), " blocks a multiprocessor; alone ",
                 Short(block.clocks), " clocks, ", Short(block.far_clocks),
                 " of them waiting for memory");
  if (block.shared_wavefronts + block.atomics + block.barriers + block.engine_bytes > 0) {
    text +=
        StrCat("\n  in a block ", Short(block.shared_wavefronts), " wavefronts of shared memory, ",
               Short(block.barriers), " barriers of warps, ", Short(block.atomics), " atomics, ",
               Short(block.engine_bytes), "B by the copy engine");
  }
  return text + Doubts(counts) + "\n";
}

namespace {

// A plane of logarithms, drawn in points.
struct Plane {
  static constexpr double kLeft = 70;
  static constexpr double kTop = 30;
  static constexpr double kWidth = 520;
  static constexpr double kHeight = 320;
  double least_x, most_x, least_y, most_y;

  double X(double value) const {
    return kLeft + kWidth * std::log(value / least_x) / std::log(most_x / least_x);
  }
  double Y(double value) const {
    return kTop + kHeight * (1 - std::log(value / least_y) / std::log(most_y / least_y));
  }
};

std::string Text(double x, double y, std::string_view anchor, const std::string& content) {
  return StrCat("<text x=\"", Fixed(x, 1), "\" y=\"", Fixed(y, 1), "\" text-anchor=\"", anchor,
                "\">", base::EscapeMarkup(content), "</text>\n");
}

std::string Roof(const Plane& plane, double bandwidth, double rate, const std::string& name) {
  const double ridge = rate / bandwidth;
  const double first = std::max(plane.least_x, plane.least_y / bandwidth);
  return StrCat("<polyline fill=\"none\" stroke=\"#456\" stroke-width=\"1.5\" points=\"",
                Fixed(plane.X(first), 1), ",", Fixed(plane.Y(first * bandwidth), 1), " ",
                Fixed(plane.X(ridge), 1), ",", Fixed(plane.Y(rate), 1), " ",
                Fixed(plane.X(plane.most_x), 1), ",", Fixed(plane.Y(rate), 1), "\"/>\n",
                Text(plane.X(plane.most_x), plane.Y(rate) - 4, "end", name));
}

std::string Axes(const Plane& plane) {
  std::string text = StrCat("<rect x=\"70\" y=\"30\" width=\"520\" height=\"320\" fill=\"none\" ",
                            "stroke=\"#bbb\"/>\n");
  for (double x = plane.least_x; x <= plane.most_x * 1.001; x *= 10) {
    text += Text(plane.X(x), Plane::kTop + Plane::kHeight + 16, "middle", Short(x));
  }
  for (double y = plane.least_y; y <= plane.most_y * 1.001; y *= 10) {
    text += Text(Plane::kLeft - 6, plane.Y(y) + 4, "end", Short(y));
  }
  text +=
      Text(Plane::kLeft + Plane::kWidth / 2, 385, "middle", "operations a byte of device memory");
  return text + Text(Plane::kLeft, 20, "start", "operations a second");
}

}  // namespace

std::string RooflineSvg(const Record& record, const gpu_model::GpuModel& gpu) {
  const Counts& counts = record.counts;
  const double bandwidth =
      static_cast<double>(gpu.memory_bytes_per_second) * gpu.attained_memory_share;
  const double bytes = std::max(1.0, counts.bytes_read + counts.bytes_written);
  const double operations = std::max(1.0, Operations(counts));
  const double seconds = TimeOf(counts, gpu).seconds;
  const Plane plane{0.01, 10000, 1e10, 1e16};
  const double x = std::clamp(operations / bytes, plane.least_x, plane.most_x);
  const double y = std::clamp(operations / seconds, plane.least_y, plane.most_y);
  std::string svg = StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 400\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"#222\">\n<rect width=\"620\" height=\"400\" fill=\"#fff\"/>\n",
      Axes(plane));
  for (const auto& [type, name] :
       {std::pair("bf16", "tensor cores, bf16"), std::pair("fp32", "single precision")}) {
    const auto rate = gpu.peak_flops.find(type);
    if (rate != gpu.peak_flops.end()) svg += Roof(plane, bandwidth, rate->second, name);
  }
  constexpr std::size_t kShownName = 60;
  svg += StrCat("<circle cx=\"", Fixed(plane.X(x), 1), "\" cy=\"", Fixed(plane.Y(y), 1),
                "\" r=\"5\" fill=\"#c33\"/>\n");
  const std::string name(kernel::ParseKernelName(record.name).base);
  svg += Text(Plane::kLeft + Plane::kWidth, 20, "end",
              StrCat(name.substr(0, kShownName), ", ", Microseconds(seconds), " on ", gpu.name));
  return svg + "</svg>\n";
}

}  // namespace eidolon::timing::count
