#include "services/timing/gpu_model/quantity.h"

#include <string>
#include <vector>

#include "services/base/text.h"

namespace eidolon::timing::gpu_model {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

const std::vector<Unit>& Units(Dimension dimension) {
  static const std::vector<Unit> none;
  static const std::vector<Unit> frequency = {{"MHz", 1e6}, {"GHz", 1e9}};
  static const std::vector<Unit> bits = {{"bit", 1}};
  static const std::vector<Unit> bytes = {{"B", 1},           {"KiB", 1024.0},
                                          {"MiB", 1048576.0}, {"GiB", 1073741824.0},
                                          {"MB", 1e6},        {"GB", 1e9}};
  static const std::vector<Unit> rate = {{"GB/s", 1e9}, {"TB/s", 1e12}};
  static const std::vector<Unit> power = {{"W", 1}};
  static const std::vector<Unit> time = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}};
  static const std::vector<Unit> flops = {{"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  switch (dimension) {
    case Dimension::kCount:
      return none;
    case Dimension::kFrequency:
      return frequency;
    case Dimension::kBits:
      return bits;
    case Dimension::kBytes:
      return bytes;
    case Dimension::kBytesPerSecond:
      return rate;
    case Dimension::kPower:
      return power;
    case Dimension::kTime:
      return time;
    case Dimension::kFlops:
      return flops;
  }
  return none;
}

}  // namespace

base::Result<double> ParseQuantity(std::string_view text, Dimension dimension) {
  const auto& units = Units(dimension);
  const std::size_t space = text.find(' ');
  const auto number = base::ParseNumber(text.substr(0, space));
  const std::string_view unit = space == std::string_view::npos ? "" : text.substr(space + 1);
  if (!number) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      base::StrCat("'", text, "' does not start with a number and a space"));
  }
  if (units.empty() && unit.empty()) return *number;
  std::vector<std::string> names;
  for (const Unit& known : units) {
    if (known.name == unit) return *number * known.factor;
    names.emplace_back(known.name);
  }
  return base::Fail(base::ErrorCode::kInvalidArgument,
                    base::StrCat("'", text, "' has the wrong unit; expected ",
                                 names.empty() ? "a plain number" : base::Join(names, ", ")));
}

}  // namespace eidolon::timing::gpu_model
