// The links of the transfers that a communicator has started, kept for the next ones: a program's
// collectives are the same ones in every step, and those of thousands of GPUs, or of a pipeline
// whose mirrored ranks do the same elsewhere, have tens of thousands of links.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "services/network/collective/kind.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::communicator {

// This class is not thread-safe. Holds a bounded number of links, and forgets all of them when more
// come.
class RouteTable {
 public:
  // Key that determines a transfer's links, given the communicator's members and the topology.
  struct Key {
    collective::Kind kind = collective::Kind::kAllReduce;
    std::uint64_t bytes = 0;
    std::uint32_t from = 0;   // Or the root.
    std::uint32_t to = 0;     // Point to point.
    std::uint32_t image = 0;  // As in flow::TransferKey.
    auto operator<=>(const Key&) const = default;
  };

  // The key's links; `make` finds them when they are not known.
  flow::LinkUses Find(const Key& key, const std::function<std::vector<flow::LinkUse>()>& make);
  void Clear();

 private:
  static constexpr std::size_t kLinksMax = std::size_t{1} << 21;  // 16 bytes each.

  std::map<Key, flow::LinkUses> known_;
  std::size_t links_ = 0;
};

}  // namespace eidolon::network::communicator
