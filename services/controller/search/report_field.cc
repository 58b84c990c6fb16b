#include "services/controller/search/report_field.h"

#include <algorithm>
#include <array>

namespace eidolon::controller::search {
namespace {

using Band = ReportField::Band;

constexpr std::array<ReportField, 10> kFields = {{
    {"iterationSeconds", Band::kTime},
    {"iterationsPerSecond", Band::kRate},
    {"tokensPerSecond", Band::kRate},
    {"modelFlopsUtilization", Band::kRate},
    {"costPerUnit", Band::kTime},
    {"costPerHour", Band::kNone},
    {"gpus", Band::kNone},
    {"peakMemoryBytes", Band::kNone},
    {"headroomBytes", Band::kNone},
    {"memoryHeadroom", Band::kNone},
}};

}  // namespace

std::span<const ReportField> ReportFields() { return kFields; }

const ReportField* FindReportField(std::string_view name) {
  const auto found = std::ranges::find(kFields, name, &ReportField::name);
  return found == kFields.end() ? nullptr : found;
}

}  // namespace eidolon::controller::search
