#include "services/timing/model/estimate.h"

namespace eidolon::timing::model {

std::string_view Name(Source source) {
  switch (source) {
    case Source::kMeasured:
      return "measured";
    case Source::kInterpolated:
      return "interpolated";
    case Source::kModelled:
      return "modelled";
    case Source::kAssumed:
      return "assumed";
  }
  return "assumed";
}

}  // namespace eidolon::timing::model
