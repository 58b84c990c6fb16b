#include "services/timing/fit/noise_floor.h"

#include <cstdio>

#include "services/base/text.h"
#include "services/timing/fit/errors.h"
#include "services/timing/model/published_tables.h"

namespace eidolon::timing::fit {
namespace {

using base::StrCat;

double Share(std::string_view thousandths) {
  return thousandths == "-" ? 0 : model::CsvNumber(thousandths) / 1000;
}

std::string Ratio(double ratio) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", ratio);
  return text;
}

}  // namespace

std::vector<NoiseFloor> NoiseFloors() {
  std::vector<NoiseFloor> floors;
  for (const model::CsvRow& row : model::CsvRows(model::GemmNoiseFloorCsv(), 7)) {
    floors.push_back({.gpu = row[0],
                      .type = row[1],
                      .lasts = row[2],
                      .pairs = static_cast<std::size_t>(model::CsvNumber(row[3])),
                      .all = Share(row[4]),
                      .versions = Share(row[5]),
                      .stacks = Share(row[6])});
  }
  return floors;
}

bool HoldsFloor(const KernelErrors& errors, const NoiseFloor& floor) {
  return errors.mean <= kNoiseFloorShare * floor.all;
}

std::string FormatNoiseFloor(const std::vector<KernelErrors>& held_out) {
  std::string text =
      "| GPU | type | lasts | pairs | versions of a stack | newest stacks | noise floor: all pairs "
      "| mean error | of the floor | 1.3 x the floor |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  const std::vector<NoiseFloor> floors = NoiseFloors();
  for (const KernelErrors& e : held_out) {
    for (const NoiseFloor& f : floors) {
      if (f.gpu != e.gpu || f.type != e.type || f.lasts != e.lasts) continue;
      text += StrCat("| ", e.gpu, " | ", e.type, " | ", e.lasts, " | ", f.pairs, " | ");
      text += StrCat(Percent(f.versions), " | ", f.stacks > 0 ? Percent(f.stacks) : "-", " | ");
      text += StrCat(Percent(f.all), " | ", Percent(e.mean), " | ", Ratio(e.mean / f.all), " | ");
      text += HoldsFloor(e, f) ? "holds |\n" : "**misses** |\n";
    }
  }
  return text;
}

}  // namespace eidolon::timing::fit
