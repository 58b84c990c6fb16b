// Transfers in progress: when each starts, shares its links with the others, and ends.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/engine/event_queue.h"
#include "services/network/flow/fair_share.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::flow {

struct Finish {
  TransferKey key;
  base::SimTime start;
  base::SimTime finish;
};

// Fluid simulation over the links of one fabric. A transfer whose links have room for all that use
// them runs at full speed and takes exactly latency + alone; others share by max-min. Only the
// transfers connected to a change through overfull links are solved again. Not thread safe.
class TransferSet {
 public:
  // Bytes per second, by link.
  explicit TransferSet(std::span<const std::uint64_t> capacities);

  // Requires: transfer.start >= now().
  void Add(Transfer transfer);

  base::SimTime now() const { return now_; }
  // Time of the next event: the end of a latency or of a transfer. Nothing when all have ended.
  std::optional<base::SimTime> NextTime();
  // Goes to NextTime() and handles every event of that instant. Appends the transfers that ended,
  // in key order. Requires: NextTime() is not empty.
  void Advance(std::vector<Finish>& finished);

  // Forgets one communicator's transfers; those that shared links with them go on faster.
  void Cancel(std::uint64_t job, std::uint64_t communicator);
  // The same for a whole job.
  void Cancel(std::uint64_t job);

  std::size_t Active() const { return active_; }  // Added and not ended.
  std::uint64_t events() const { return events_; }

 private:
  struct Flow {
    Transfer transfer;
    base::Wide left = 0;  // Time at full speed, in 2^-32 ps.
    std::uint64_t speed = 0;
    base::SimTime updated;
    std::uint64_t version = 0;  // Never reset, so that an old event cannot fit a new flow.
    bool active = false;        // Added and not ended...
    bool flowing = false;       // ...and past its latency.
  };
  struct Event {
    base::SimTime at;
    TransferKey key;
    std::uint32_t slot = 0;
    std::uint64_t version = 0;
    bool operator<(const Event& other) const {
      return at != other.at ? at < other.at : key < other.key;
    }
  };
  struct Link {
    std::uint64_t capacity = 0;
    std::uint64_t demand = 0;  // All members at full speed.
    std::vector<std::uint32_t> members;
    bool Overfull() const { return demand > capacity; }
  };

  std::uint32_t TakeSlot();
  // Ends a transfer, finished or not.
  void Release(std::uint32_t slot);
  template <typename Predicate>
  void CancelIf(const Predicate& concerned);
  void DropStale();
  void Enter(std::uint32_t slot);
  void Leave(std::uint32_t slot);
  // The flowing transfers that the marked ones can influence, in slot order.
  std::vector<std::uint32_t> Influenced();
  void Solve();
  void SetSpeed(std::uint32_t slot, std::uint64_t speed);

  base::SimTime now_;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> free_;
  std::vector<Link> links_;
  FairShare fair_share_;
  engine::EventQueue<Event> events_queue_;
  std::vector<std::uint32_t> changed_flows_;        // Entered in this instant.
  std::vector<topology::LinkIndex> changed_links_;  // Were overfull when a flow left.
  std::size_t active_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace eidolon::network::flow
