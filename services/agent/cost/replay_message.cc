#include "services/agent/cost/replay_message.h"

#include <cstdint>
#include <cstring>

#include "eidolon/timing/v1/timing.pb.h"
#include "services/contract/ring/replay.h"

namespace eidolon::agent::cost {

namespace wire = ::eidolon::ring;

bool FillReplay(std::span<const std::byte> context, timing::v1::Replay* replay) {
  wire::ReplayContext head;
  if (context.size() < sizeof(head)) return false;
  std::memcpy(&head, context.data(), sizeof(head));
  const std::uint64_t padded = (std::uint64_t{head.parameter_bytes} + 7) & ~std::uint64_t{7};
  const std::uint64_t needed =
      sizeof(head) + padded + std::uint64_t{head.range_count} * sizeof(wire::ReplayRange);
  if (head.magic != wire::kReplayMagic || needed > context.size()) return false;
  const std::byte* at = context.data() + sizeof(head);
  replay->set_parameters(at, head.parameter_bytes);
  at += padded;
  for (std::uint32_t i = 0; i < head.range_count; ++i, at += sizeof(wire::ReplayRange)) {
    wire::ReplayRange from;
    std::memcpy(&from, at, sizeof(from));
    timing::v1::Range* to = replay->add_allocations();
    to->set_begin(from.begin);
    to->set_size_bytes(from.bytes);
  }
  return true;
}

}  // namespace eidolon::agent::cost
