// Any bytes behind a kernel's definition: no replay, or one that was all there.
#include <cstddef>
#include <cstdint>
#include <span>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/cost/replay_message.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  eidolon::timing::v1::Replay replay;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  if (!eidolon::agent::cost::FillReplay(bytes, &replay)) return 0;
  CHECK(replay.parameters().size() + static_cast<std::size_t>(replay.allocations_size()) * 16 <=
        size);
  return 0;
}
