#include "services/network/horizon/horizon.h"

#include <algorithm>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::horizon {

using base::SimTime;

SimTime Horizon::Session::Bound() const {
  if (pending.empty()) return promise.lower_bound;
  return std::min(promise.lower_bound, pending.front().time);
}

void Horizon::Expect(SessionId session, SimTime start) {
  Session fresh;
  fresh.promise.lower_bound = start;
  CHECK(sessions_.emplace(session, fresh).second);
}

void Horizon::Connect(SessionId session) { sessions_.at(session).connected = true; }

void Horizon::Disconnect(SessionId session) { sessions_.erase(session); }

base::Result<void> Horizon::Keep(SessionId id, const Promise& promise) {
  Session& session = sessions_.at(id);
  if (promise.processed > session.sent) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      base::StrCat("horizon claims ", promise.processed,
                                   " processed messages, but only ", session.sent, " were sent"));
  }
  session.promise = promise;
  while (!session.pending.empty() && session.pending.front().number <= promise.processed) {
    session.pending.pop_front();
  }
  return {};
}

void Horizon::Sent(SessionId id, SimTime effect) {
  Session& session = sessions_.at(id);
  ++session.sent;
  while (!session.pending.empty() && session.pending.back().time >= effect) {
    session.pending.pop_back();
  }
  session.pending.push_back({session.sent, effect});
}

SimTime Horizon::Safe() const {
  SimTime safe = SimTime::Max();
  for (const auto& [id, session] : sessions_) safe = std::min(safe, session.Bound());
  return std::max(safe, floor_);
}

bool Horizon::AllQuiescent() const {
  if (sessions_.empty()) return false;
  return std::all_of(sessions_.begin(), sessions_.end(), [](const auto& entry) {
    const Session& session = entry.second;
    return session.connected && session.promise.quiescent &&
           session.promise.processed == session.sent;
  });
}

void Horizon::Release(SimTime time) {
  CHECK(AllQuiescent());
  floor_ = std::max(floor_, time);
}

void Horizon::EndQuiescence() {
  for (auto& [id, session] : sessions_) session.promise.quiescent = false;
}

std::optional<SimTime> Horizon::EarliestWanted() const {
  std::optional<SimTime> earliest;
  for (const auto& [id, session] : sessions_) {
    const auto& wanted = session.promise.wanted;
    if (wanted && (!earliest || *wanted < *earliest)) earliest = wanted;
  }
  return earliest;
}

std::vector<Horizon::Wait> Horizon::TakeWanted(SimTime time) {
  std::vector<Wait> taken;
  for (auto& [id, session] : sessions_) {
    if (!session.promise.wanted || *session.promise.wanted > time) continue;
    taken.push_back({id, *session.promise.wanted});
    session.promise.wanted.reset();
  }
  return taken;
}

std::vector<SessionId> Horizon::Sessions() const {
  std::vector<SessionId> all;
  for (const auto& [id, session] : sessions_) all.push_back(id);
  return all;
}

}  // namespace eidolon::network::horizon
