// Measures how long each flow was held below its cap, by which links: a flow is bound to one full
// link at a time or to its cap, and every change of that is recorded here. What it costs is one
// entry for each link that held the flow for some time, of at most kLinksMax; what further ones
// hold it is counted by their tier alone. A flow that always ran at its cap has none. A network
// whose links have no tiers keeps no book, and its flows pay nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/flow/flow_spec.h"

namespace eidolon::network::flow {

// Tiers are the caller's numbers. Times of one flow never overlap, so that their sum is the time in
// which it was not at its cap, to the picosecond. Copyable; not thread safe.
class HoldTable {
 public:
  using Slot = std::uint32_t;  // Of a flow.
  static constexpr std::uint32_t kLinksMax = 8;

  // By link; a link beyond them has tier 0. Empty: no book is kept.
  explicit HoldTable(std::span<const std::uint8_t> tiers) : tiers_(tiers.begin(), tiers.end()) {}

  // A flow begins, bound to its cap. What the slot's last flow left is forgotten.
  void Begin(Slot slot);
  // The flow was bound to `link` until now, and is bound to another one or to its cap from now on.
  void Leave(Slot slot, std::uint32_t link, base::SimTime now);
  // It was at its cap until now, and is bound to a link from now on.
  void Enter(Slot slot, base::SimTime now) {
    if (!tiers_.empty()) flows_[slot].since_ps = now.ps;
  }
  // Adds what a flow has been held so far, or what it had been when it ended.
  void AddTo(Slot slot, std::vector<LinkTime>* times) const;

  std::size_t BytesUsed() const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct [[gnu::packed, gnu::aligned(4)]] Flow {
    std::int64_t since_ps = 0;    // While it is bound to a link.
    std::uint32_t first = kNone;  // Of its entries.
  };
  struct Entry {
    base::Duration time;
    std::uint32_t next = kNone;
    std::uint32_t link = 0;  // Or kFirstTier + the tier of several.
  };
  // No network has so many links.
  static constexpr std::uint32_t kFirstTier = ~std::uint32_t{0} - 255;
  std::uint8_t TierOf(std::uint32_t link) const {
    if (link >= kFirstTier) return static_cast<std::uint8_t>(link - kFirstTier);
    return link < tiers_.size() ? tiers_[link] : 0;
  }

  void AddToTier(Flow* flow, std::uint32_t link, base::Duration time);
  void AddEntry(Flow* flow, std::uint32_t link, base::Duration time);

  std::vector<std::uint8_t> tiers_;
  std::vector<Flow> flows_;  // By slot.
  std::vector<Entry> entries_;
  std::uint32_t free_ = kNone;  // The first of those that nobody has.
};

}  // namespace eidolon::network::flow
