// Summarises a critical path: shares by kind, by rank, and the operations that take most of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/sim_time.h"
#include "services/contract/critical_path/links.h"
#include "services/contract/critical_path/trace.h"
#include "services/contract/critical_path/walk.h"

namespace eidolon::critical_path {

// "kernels", "copies", "communication", "launches", "delays", "host", "sleeps", "unknown".
std::string_view Name(Kind kind);

struct KindTime {
  Kind kind = Kind::kUnknown;
  base::Duration time;
};
struct TierTime {
  LinkTier tier = LinkTier::kUnknown;
  base::Duration time;
};
// Time of one link, by its name.
struct NamedLinkTime {
  std::string name;
  LinkTier tier = LinkTier::kUnknown;
  base::Duration time;
};
struct RankTime {
  std::int32_t rank = 0;
  base::Duration time;
};
// All segments of one kind and name.
struct OperationTime {
  Kind kind = Kind::kUnknown;
  std::string name;
  base::Duration time;
  std::uint64_t times = 0;
};

// Each list has the longest first. Kinds make up the length, and so do ranks, to the picosecond;
// links make up communication.
struct Summary {
  std::optional<std::uint32_t> iteration;  // From 0; none: the whole program.
  base::Duration length;
  std::vector<KindTime> kinds;
  std::vector<TierTime> links;
  std::vector<NamedLinkTime> named_links;  // At most kNamedLinksMax; they make up part of `links`.
  std::vector<RankTime> ranks;
  std::vector<OperationTime> operations;  // At most kOperationsMax.
  std::uint64_t segments = 0;
  std::uint64_t rank_changes = 0;  // How often it goes on in another rank.
  std::uint64_t left_out = 0;      // Operations that the traces do not have.
  std::uint32_t ranks_shown = 0;
};
constexpr std::size_t kOperationsMax = 20;
constexpr std::size_t kNamedLinksMax = 8;

// Requires: traces.
Summary Summarise(std::span<const RankTrace> traces);

}  // namespace eidolon::critical_path
