// The source of an estimate on the wire: the one translation between estimate::Source and
// EstimateSource of proto/eidolon/common/v1.
#pragma once

#include <optional>

#include "eidolon/common/v1/common.pb.h"
#include "services/contract/estimate/source.h"

namespace eidolon::estimate::wire {

// Nothing when the message leaves it unspecified or a later version of the sender has one that is
// not known here. How good such an estimate is cannot be told: it never passes for modelled.
std::optional<Source> FromMessage(common::v1::EstimateSource source);

common::v1::EstimateSource ToMessage(Source source);

}  // namespace eidolon::estimate::wire
