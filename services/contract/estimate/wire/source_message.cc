#include "services/contract/estimate/wire/source_message.h"

#include "services/base/check.h"

namespace eidolon::estimate::wire {

std::optional<Source> FromMessage(common::v1::EstimateSource source) {
  switch (source) {
    case common::v1::ESTIMATE_SOURCE_MEASURED:
      return Source::kMeasured;
    case common::v1::ESTIMATE_SOURCE_INTERPOLATED:
      return Source::kInterpolated;
    case common::v1::ESTIMATE_SOURCE_MODELLED:
      return Source::kModelled;
    case common::v1::ESTIMATE_SOURCE_ASSUMED:
      return Source::kAssumed;
    default:
      return std::nullopt;
  }
}

common::v1::EstimateSource ToMessage(Source source) {
  switch (source) {
    case Source::kMeasured:
      return common::v1::ESTIMATE_SOURCE_MEASURED;
    case Source::kInterpolated:
      return common::v1::ESTIMATE_SOURCE_INTERPOLATED;
    case Source::kModelled:
      return common::v1::ESTIMATE_SOURCE_MODELLED;
    case Source::kAssumed:
      return common::v1::ESTIMATE_SOURCE_ASSUMED;
  }
  CHECK(false);
}

}  // namespace eidolon::estimate::wire
