// The time before which no new traffic can appear. What a live rank has read cannot be taken back,
// so an event may be told only when it lies at or before the horizon.
//
//     session A  bound 70, all messages processed   ->  acts at 70 or later
//     session B  bound never, but a commit at 50    ->  acts at 50 or later (when it has read it)
//                has been sent and not processed
//     horizon = 50
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/horizon/bound_tree.h"

namespace eidolon::network::horizon {

// An agent's conversation, numbered by the owner in an order of its own choosing.
using SessionId = std::uint64_t;

// An agent's promise about its future actions.
struct Promise {
  base::SimTime lower_bound;    // Nothing it will still send is ready before this...
  std::uint64_t processed = 0;  // ...once so many of the messages sent to it have been taken in.
  bool quiescent = false;       // All its processes sleep.
  std::optional<base::SimTime> wanted;  // It waits for word that everything up to here is known.
  // The ranks on these GPUs issue nothing before these times, whatever is still sent to them. What
  // they have issued may become ready earlier.
  struct OwnBound {
    std::uint32_t device = 0;
    base::SimTime time;
  };
  std::vector<OwnBound> own_bounds;
};

// A message costs the logarithm of the number of sessions, a question about all of them nothing.
// Not thread safe. Call order: Expect, Connect, Keep and Sent in any order, Disconnect.
class Horizon {
 public:
  // From now on the session holds the horizon at `start` until its first promise.
  // Requires: the session is not known.
  void Expect(SessionId session, base::SimTime start);
  // Requires: expected, for these and all below.
  void Connect(SessionId session);
  // The session no longer holds anything back.
  void Disconnect(SessionId session);
  bool Knows(SessionId session) const { return sessions_.contains(session); }
  bool Connected(SessionId session) const { return sessions_.at(session).connected; }

  // Fails when the promise claims to have processed messages that were never sent.
  base::Result<void> Keep(SessionId session, const Promise& promise);
  // A message was sent whose consequences cannot come before `effect`.
  void Sent(SessionId session, base::SimTime effect);

  // SimTime::Max() without sessions, or when all wait for the network.
  base::SimTime Safe() const { return std::max(bounds_.Least(), floor_); }

  // Returns the bound of one GPU's ranks: Promise::own_bounds. Time 0 where nothing is known.
  base::SimTime OwnBound(SessionId session, std::uint32_t device) const;

  // Every session is connected, quiescent, and has processed all that was sent to it.
  bool AllQuiescent() const { return !sessions_.empty() && awake_ == 0; }
  // Moves the horizon to `time` although ranks are behind: they continue there at the earliest.
  // Requires: AllQuiescent().
  void Release(base::SimTime time);
  // Someone may have been woken: quiescence has to be said again.
  void EndQuiescence();

  // The earliest time any session waits for.
  std::optional<base::SimTime> EarliestWanted() const;
  struct Wait {
    SessionId session = 0;
    base::SimTime wanted;
    bool operator==(const Wait&) const = default;
  };
  // Sessions that wait for a time at or before `time`, in order; they wait no longer.
  std::vector<Wait> TakeWanted(base::SimTime time);

  std::vector<SessionId> Sessions() const;
  base::SimTime floor() const { return floor_; }

 private:
  struct Effect {
    std::uint64_t number;  // The message that brought it, counted from 1.
    base::SimTime time;
  };
  struct Session {
    bool connected = false;
    Promise promise;
    std::uint64_t sent = 0;
    // Effects of unprocessed messages that no later unprocessed one undercuts: times ascend.
    std::deque<Effect> pending;

    BoundTree::Place place = 0;
    bool awake = true;  // Not connected, not quiescent, or behind with its messages.

    base::SimTime Bound() const;
  };

  // Called after any change of the session.
  void Settle(Session& session);
  void Want(SessionId id, Session& session, std::optional<base::SimTime> wanted);

  std::map<SessionId, Session> sessions_;
  BoundTree bounds_;
  std::size_t awake_ = 0;                                // Sessions that are.
  std::set<std::pair<base::SimTime, SessionId>> wants_;  // The promises' wanted times.
  base::SimTime floor_;
};

}  // namespace eidolon::network::horizon
