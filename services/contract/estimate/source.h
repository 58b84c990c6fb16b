// Sources of an estimate, best first: the one list for the services that estimate, the agent that
// adds estimates up and the controller that shows them. The wire has the same list (EstimateSource
// of proto/eidolon/common/v1), translated in services/contract/estimate/wire alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::estimate {

enum class Source : std::uint8_t { kMeasured, kInterpolated, kModelled, kAssumed };
inline constexpr int kSources = 4;

// Returns the name as reports and metrics spell it.
std::string_view Name(Source source);

}  // namespace eidolon::estimate
