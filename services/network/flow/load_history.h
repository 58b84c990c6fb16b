// Keeps the load of some links over time while a consumer, such as a timeline, wants it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "services/base/sim_time.h"

namespace eidolon::network::flow {

// Load from `at` on, until the next change of the same link. Load in rate units (flow_spec.h).
struct LoadChange {
  base::SimTime at;
  std::uint32_t link = 0;
  std::uint64_t load = 0;
  bool operator==(const LoadChange&) const = default;
};

// Memory is bounded: beyond so many changes, of all links together, the oldest are forgotten. A
// history without links costs nothing. Not thread safe.
class LoadHistory {
 public:
  static constexpr std::size_t kChangesMax = 1'000'000;
  explicit LoadHistory(std::size_t changes_max = kChangesMax) : changes_max_(changes_max) {}

  // A link counts as idle until it is noted.
  void Watch(std::uint32_t link) { links_.try_emplace(link); }
  void Forget(std::uint32_t link);
  bool IsWatching() const { return !links_.empty(); }

  // From `at` on each link has the load that `load_of(link)` says. Requires: `at` is not earlier
  // than that of the call before.
  template <typename LoadOf>
  void Note(base::SimTime at, const LoadOf& load_of) {
    for (auto& [link, load] : links_) {
      const std::uint64_t now = load_of(link);
      if (now == load.last) continue;
      load.last = now;
      Add({.at = at, .link = link, .load = now});
    }
  }

  // Everything that is known of these links in [from, to], in order of time: for each link its load
  // at the first moment that is known, then its changes. Requires: the links are watched.
  std::vector<LoadChange> Read(const std::vector<std::uint32_t>& links, base::SimTime from,
                               base::SimTime to) const;

 private:
  struct Loads {
    std::uint64_t first = 0;  // Before the first change that is kept.
    std::uint64_t last = 0;
  };
  void Add(const LoadChange& change);

  std::size_t changes_max_;
  std::map<std::uint32_t, Loads> links_;
  std::deque<LoadChange> changes_;
  base::SimTime known_from_;
};

}  // namespace eidolon::network::flow
