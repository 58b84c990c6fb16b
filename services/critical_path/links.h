// What communication spends its time on: sorts of links, and what is none. The network service
// tells it of each collective and of each group's last transfer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "services/base/sim_time.h"

namespace eidolon::critical_path {

// Numbered like LinkTier of the network service's messages.
enum class LinkTier : std::uint32_t {
  kUnknown,
  kLatency,  // Before bytes flow.
  kPace,     // NCCL's own speed, as far as no link is full.
  kNvlink,
  kPcie,
  kBridge,
  kNic,
  kLeaf,
  kPod,
  kLocal,
  kGlobal,
  kTorus,
  kCable,
};
constexpr std::size_t kLinkTiers = 13;

// "nvlink", "nic", "leaf".
std::string_view Name(LinkTier tier);
// "nvlink_picoseconds": what a timeline calls the time on it.
std::string_view FieldOf(LinkTier tier);

struct LinkTime {
  base::Duration time;
  LinkTier tier = LinkTier::kUnknown;
  std::uint32_t reserved = 0;
};

using LinkTimes = std::array<base::Duration, kLinkTiers>;

// Adds what the last `length` of a transfer went to. Its latency comes first, and its links share
// what follows evenly; what is longer than the transfer is of no known link. `length` is what is
// added, to the picosecond. Requires: no time is negative.
void AddLast(std::span<const LinkTime> transfer, base::Duration length, LinkTimes* sums);

}  // namespace eidolon::critical_path
