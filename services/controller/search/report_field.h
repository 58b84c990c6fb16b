// Fields of a report by which a search chooses, and which its conditions may name.
#pragma once

#include <span>
#include <string_view>

namespace eidolon::controller::search {

struct ReportField {
  // Relates the field to the time of an iteration, whose band is predicted.
  enum class Band {
    kNone,  // It does not: the field has one value.
    kTime,  // It grows as the time does.
    kRate,  // It is inversely proportional to it.
  };
  std::string_view name;  // As rows have it.
  Band band = Band::kNone;
};

std::span<const ReportField> ReportFields();
// Null when there is none.
const ReportField* FindReportField(std::string_view name);

}  // namespace eidolon::controller::search
