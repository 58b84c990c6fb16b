// What this server may promise the network: no rank of it will still cause traffic before a certain
// time.
//
// A rank's own bound is
//   * infinite while one of its threads waits for something that only the network can resolve: the
//     wait's end is an answer, and the agent acknowledges answers together with their consequences;
//   * the asked time while a thread asks about a moment (a query, WaitUntil), if nothing waits as
//     above;
//   * infinite as well while a thread waits for values of a call and was passed over, since the job
//     stood still (PassOverValueWaits). It is the emulation that needs them, so that the rank goes
//     on at its own clock; but those that are to give them may ask about later moments;
//   * else its clock, or the clock of its oldest record that was not applied yet.
// A rank that is expected but has not introduced itself may still start anything: its bound is 0.
// The server's bound is the least of them.
//
// What holds whatever the network answers is the rank's own bound: a thread that waits for work
// goes on when that can end at the earliest, and one that waits for values at its clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "services/base/sim_time.h"

namespace eidolon::agent::clock {

// This class is not thread-safe. Clocks and waits of ranks that are not there are ignored.
class Horizon {
 public:
  using SimTime = base::SimTime;

  // Ranks that have not introduced themselves yet.
  void SetMissing(int missing) { missing_ = missing; }

  void AddRank(std::uint32_t rank, SimTime clock);
  void RemoveRank(std::uint32_t rank);
  // Grows only: a smaller value is ignored.
  void SetClock(std::uint32_t rank, SimTime clock);

  // A thread waits in `slot` for the network, which will not let it go on before `not_before`, or
  // until every other rank has passed `moment`.
  void BeginNetworkWait(std::uint32_t rank, std::uint32_t slot, SimTime not_before);
  // Of a network wait: it is known to last longer. Others are left alone.
  void RaiseNetworkWait(std::uint32_t rank, std::uint32_t slot, SimTime not_before);
  void BeginMomentWait(std::uint32_t rank, std::uint32_t slot, SimTime moment);
  // A thread waits for what other ranks put into a call. It bounds as if it ran.
  void BeginValueWait(std::uint32_t rank, std::uint32_t slot);
  // Nothing moves in the whole job: ranks that wait for values hold nobody back until they have
  // them.
  void PassOverValueWaits();
  // True when the wait was passed over: others may be ahead of the rank.
  bool EndWait(std::uint32_t rank, std::uint32_t slot);

  // SimTime::Max() when every rank waits for the network, or none is left.
  SimTime LowerBound() const;
  // The rank does not go on before it. SimTime::Max() for one that is not there.
  SimTime OwnBound(std::uint32_t rank) const;
  // Waits that have begun.
  std::uint64_t begun() const { return begun_; }
  // The earliest moment somebody asks about.
  std::optional<SimTime> Wanted() const;
  // Some thread waits for the network.
  bool HasNetworkWait() const;
  // Every rank has a thread that waits, one of them for values.
  bool StandsForValues() const;
  // Every rank has a thread that waits.
  bool EveryRankWaits() const;

 private:
  struct Wait {
    SimTime moment;      // Max(): for the network.
    SimTime not_before;  // Of a wait for the network.
  };
  struct Rank {
    SimTime clock;
    int network_waits = 0;
    std::map<std::uint32_t, Wait> waits;        // By slot.
    std::map<std::uint32_t, bool> value_waits;  // By slot: whether it was passed over.
  };

  std::map<std::uint32_t, Rank> ranks_;
  int missing_ = 0;
  std::uint64_t begun_ = 0;
};

}  // namespace eidolon::agent::clock
