// This is conservative parallel simulation: no event is committed until every session has promised
// not to act before it. A promise counts only for messages that the session has processed, so each
// message on its way holds the session back to that message's effect. Of two pending messages the
// later one with the smaller effect covers the other, hence the queue stays sorted by time and its
// front is the bound. Settle must follow every change of a session, because the tree of bounds and
// the count of awake sessions are copies of what sessions hold.
#include "services/network/horizon/horizon.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::horizon {

using base::SimTime;

SimTime Horizon::Session::Bound() const {
  if (pending.empty()) return promise.lower_bound;
  return std::min(promise.lower_bound, pending.front().time);
}

void Horizon::Settle(Session& session) {
  const bool awake =
      !session.connected || !session.promise.quiescent || session.promise.processed != session.sent;
  if (awake != session.awake) awake ? ++awake_ : --awake_;
  session.awake = awake;
  bounds_.Set(session.place, session.Bound());
}

void Horizon::Want(SessionId id, Session& session, std::optional<SimTime> wanted) {
  std::optional<SimTime>& before = session.promise.wanted;
  if (before == wanted) return;
  if (before) wants_.erase({*before, id});
  if (wanted) wants_.emplace(*wanted, id);
  before = wanted;
}

void Horizon::Expect(SessionId id, SimTime start) {
  Session fresh;
  fresh.promise.lower_bound = start;
  fresh.place = bounds_.Add(start);
  CHECK(sessions_.emplace(id, std::move(fresh)).second);
  ++awake_;
}

void Horizon::Connect(SessionId id) {
  Session& session = sessions_.at(id);
  session.connected = true;
  Settle(session);
}

void Horizon::Disconnect(SessionId id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  Want(id, session, std::nullopt);
  bounds_.Remove(session.place);
  if (session.awake) --awake_;
  sessions_.erase(found);
}

base::Result<void> Horizon::Keep(SessionId id, const Promise& promise) {
  Session& session = sessions_.at(id);
  if (promise.processed > session.sent) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      base::StrCat("horizon claims ", promise.processed,
                                   " processed messages, but only ", session.sent, " were sent"));
  }
  Want(id, session, promise.wanted);
  session.promise = promise;
  while (!session.pending.empty() && session.pending.front().number <= promise.processed) {
    session.pending.pop_front();
  }
  Settle(session);
  return {};
}

SimTime Horizon::OwnBound(SessionId id, std::uint32_t device) const {
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) return {};
  const auto& bounds = session->second.promise.own_bounds;
  const auto found = std::ranges::find(bounds, device, &Promise::OwnBound::device);
  return found == bounds.end() ? SimTime{} : found->time;
}

void Horizon::Sent(SessionId id, SimTime effect) {
  Session& session = sessions_.at(id);
  ++session.sent;
  while (!session.pending.empty() && session.pending.back().time >= effect) {
    session.pending.pop_back();
  }
  session.pending.push_back({session.sent, effect});
  Settle(session);
}

void Horizon::Release(SimTime time) {
  CHECK(AllQuiescent());
  floor_ = std::max(floor_, time);
}

void Horizon::EndQuiescence() {
  for (auto& [id, session] : sessions_) {
    session.promise.quiescent = false;
    Settle(session);
  }
}

std::optional<SimTime> Horizon::EarliestWanted() const {
  if (wants_.empty()) return std::nullopt;
  return wants_.begin()->first;
}

std::vector<Horizon::Wait> Horizon::TakeWanted(SimTime time) {
  std::vector<Wait> taken;
  while (!wants_.empty() && wants_.begin()->first <= time) {
    const auto [wanted, id] = *wants_.begin();
    taken.push_back({id, wanted});
    Want(id, sessions_.at(id), std::nullopt);
  }
  std::sort(taken.begin(), taken.end(),
            [](const Wait& a, const Wait& b) { return a.session < b.session; });
  return taken;
}

std::vector<SessionId> Horizon::Sessions() const {
  std::vector<SessionId> all;
  for (const auto& [id, session] : sessions_) all.push_back(id);
  return all;
}

}  // namespace eidolon::network::horizon
