// Fills the ring's data for replays on a GPU into the timing service's message.
#pragma once

#include <cstddef>
#include <span>

namespace eidolon::timing::v1 {
class Replay;
}  // namespace eidolon::timing::v1

namespace eidolon::agent::cost {

// Fills in what followed a kernel's definition (ring/replay.h). False, with a replay that is not to
// be used, for bytes that make no sense.
bool FillReplay(std::span<const std::byte> context, timing::v1::Replay* replay);

}  // namespace eidolon::agent::cost
