// Transfers in progress: when each starts, shares its links with the others, and ends.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "services/base/sim_time.h"
#include "services/network/engine/event_queue.h"
#include "services/network/flow/flow_engine.h"
#include "services/network/flow/load_history.h"
#include "services/network/flow/transfer.h"

namespace eidolon::network::flow {

struct Finish {
  TransferKey key;
  base::SimTime start;
  base::SimTime finish;
  Spent spent;
};

// The link that a transfer at full speed fills most, the first of equals, and how much of it in
// units of 2^-31.
struct Fullest {
  std::uint32_t link = kNoSingleLink;
  std::uint8_t tier = 0;
  std::uint32_t part = 0;
};

// Fluid simulation over the links of one fabric. A transfer whose links have room for all that use
// them runs at full speed and takes exactly latency + alone; others share by max-min, where the
// bandwidths of transfers, on the link each uses most, compare as their weights. Latencies are
// positive wherever it matters that the order in which transfers are made known cannot be seen:
// then no transfer begins to flow in the instant in which it is added. Not thread safe.
class TransferSet {
 public:
  // Bytes per second, by link, and the tier as which Finish::spent counts the link; none: 0.
  explicit TransferSet(std::span<const std::uint64_t> capacities,
                       std::span<const std::uint8_t> tiers = {});

  // Requires: transfer.start >= now().
  void Add(Transfer transfer);

  base::SimTime now() const { return now_; }
  // Time of the next event: the end of a latency or of a transfer. Nothing when all have ended.
  std::optional<base::SimTime> NextTime();
  // Goes to NextTime() and handles every event of that instant. Appends the transfers that ended,
  // in key order. Requires: NextTime() is not empty.
  void Advance(std::vector<Finish>& finished);

  // Lets time pass without an event. Requires: now() <= time, and no event comes before or at it.
  void AdvanceTo(base::SimTime time);
  // Sets the capacity from now on. Bytes per second; 0 stops what crosses the link.
  void SetCapacity(topology::LinkIndex link, std::uint64_t capacity);
  // Asks for the links of every transfer anew, in key order; those under way go on over them with
  // what is left of their time.
  void Reroute(const std::function<LinkUses(const Transfer&)>& route);
  // Traffic that never ends and that nobody is told of; its number is for RerouteBackground.
  std::size_t AddBackground(std::span<const LinkUse> uses, std::uint32_t weight);
  void RerouteBackground(std::size_t number, std::span<const LinkUse> uses);

  // Forgets one communicator's transfers; those that shared links with them go on faster.
  void Cancel(std::uint64_t job, std::uint64_t communicator);
  // The same for a whole job.
  void Cancel(std::uint64_t job);

  std::size_t Active() const { return active_; }  // Added and not ended.
  std::uint64_t events() const { return events_; }
  // Returns how a transfer ends that has its links for itself.
  Finish AloneOf(const Transfer& transfer);
  // The link's load is kept from now on, until it is forgotten. Changes no time.
  void Watch(topology::LinkIndex link) { history_.Watch(link); }
  void Forget(topology::LinkIndex link) { history_.Forget(link); }
  // Works as LoadHistory::Read, up to now(). Requires: the links are watched.
  std::vector<LoadChange> LoadsOf(const std::vector<topology::LinkIndex>& links, base::SimTime from,
                                  base::SimTime to);
  // Part of a link's capacity that is in use now.
  double Utilisation(topology::LinkIndex link);

 private:
  // A transfer waits, then flows as one flow of the engine, then ends.
  struct Entry {
    Transfer transfer;
    std::uint64_t version = 0;  // Never reset, so that an old event cannot fit a new transfer.
    FlowEngine::Slot slot = 0;
    Fullest fullest;
    base::SimTime entered;  // When it began to flow over the links that it uses now.
    Spent spent;            // Before.
    bool active = false;    // Added and not ended...
    bool flowing = false;   // ...and past its latency.
  };
  struct Event {
    base::SimTime at;
    TransferKey key;
    std::uint32_t entry = 0;
    std::uint64_t version = 0;
    bool operator<(const Event& other) const {
      return at != other.at ? at < other.at : key < other.key;
    }
  };

  std::uint32_t TakeEntry();
  // Ends a transfer, finished or not.
  void Release(std::uint32_t entry);
  template <typename Predicate>
  void CancelIf(const Predicate& concerned);
  void DropStale();
  void Begin(std::uint32_t entry);
  void StartFlow(Entry& entry, std::uint32_t at, base::Duration time);
  void CountSpent(Entry& entry);
  // Adds time at full speed.
  static void CountFullSpeed(const Fullest& fullest, base::Duration time, Spent* spent);
  Fullest FullestOf(std::span<const LinkUse> uses) const;
  // The same, remembered for the collectives of many links that a program starts again and again.
  Fullest FullestOf(const LinkUses& uses);
  // Starts a flow at full speed `cap` with `time` of work at that speed.
  FlowEngine::Slot Enter(std::span<const LinkUse> uses, std::uint64_t cap, base::Duration time,
                         std::uint32_t weight);
  void End(std::uint32_t entry, std::vector<Finish>& finished);
  void NoteLoads();

  base::SimTime now_;
  FlowEngine engine_;
  std::vector<std::uint8_t> tiers_;  // By link.
  // Results of FullestOf at the present capacities, by the links' address.
  std::array<std::pair<LinkUses, Fullest>, 16> fullest_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_;
  std::vector<std::pair<FlowEngine::Slot, std::uint32_t>> background_;  // And the weight.
  std::vector<std::uint32_t> entry_of_;                                 // By slot of the engine.
  engine::EventQueue<Event> beginnings_;                                // Ends of latencies.
  std::vector<FlowEngine::Slot> ended_;                                 // Scratch.
  std::vector<Hop> hops_;                                               // Scratch.
  LoadHistory history_;
  std::size_t active_ = 0;
  std::uint64_t events_ = 0;
};

}  // namespace eidolon::network::flow
