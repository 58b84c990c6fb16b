// Work definitions of the ring as the timing service wants them.
#pragma once

#include <cstddef>
#include <span>

namespace eidolon::timing::v1 {
class Replay;
class WorkItem;
}  // namespace eidolon::timing::v1

namespace eidolon::agent::cost {

// Requires: workload::CheckDefinition passed.
void FillWorkItem(std::span<const std::byte> definition, timing::v1::WorkItem* item);

// What followed a kernel's definition (ring/replay.h). False, with a replay that is not
// to be used, for bytes that make no sense.
bool FillReplay(std::span<const std::byte> context, timing::v1::Replay* replay);

}  // namespace eidolon::agent::cost
