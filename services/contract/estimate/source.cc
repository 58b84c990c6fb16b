#include "services/contract/estimate/source.h"

#include "services/base/check.h"

namespace eidolon::estimate {

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
  CHECK(false);
}

}  // namespace eidolon::estimate
