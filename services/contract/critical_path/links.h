// Parts of the time of communication: links of several sorts, and the rest. The network service
// tells it of each collective and of each group's last transfer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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
  // Number of the link: at the network service + 1, in a trace its name's + 1. 0: none, or not one
  // alone.
  std::uint32_t link = 0;
};

using LinkTimes = std::array<base::Duration, kLinkTiers>;

// Tells what the last `length` of a transfer went to. Its latency comes first, and its links share
// what follows evenly; what is longer than the transfer is of no known link. `length` is what is
// told, to the picosecond. Requires: no time is negative.
void TellLast(std::span<const LinkTime> transfer, base::Duration length,
              const std::function<void(const LinkTime&)>& tell);

}  // namespace eidolon::critical_path
