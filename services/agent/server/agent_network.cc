// What the agent exchanges with the timing and network services.
#include <algorithm>
#include <limits>
#include <utility>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/listener.h"
#include "services/agent/server/agent.h"
#include "services/base/log.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

namespace v1 = network::v1;
using base::SimTime;
using base::StrCat;

namespace {

constexpr std::size_t kBatch = 4096;
constexpr int kOpenBatches = 2;
// A rank's clock moves all the time; nobody needs each value of it.
constexpr std::int64_t kClaimEveryNs = 2'000'000;

iteration::Source SourceOf(common::v1::EstimateSource source) {
  switch (source) {
    case common::v1::ESTIMATE_SOURCE_MEASURED:
      return iteration::Source::kMeasured;
    case common::v1::ESTIMATE_SOURCE_INTERPOLATED:
      return iteration::Source::kInterpolated;
    case common::v1::ESTIMATE_SOURCE_ASSUMED:
      return iteration::Source::kAssumed;
    default:
      return iteration::Source::kModelled;
  }
}

SimTime TimeOf(std::uint64_t ps) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return {static_cast<std::int64_t>(std::min(ps, kMax))};
}

}  // namespace

void Agent::ServiceLost(const base::Error& error) {
  End({.reason = outcome::Reason::kServiceLost, .message = error.message});
}

void Agent::AskCosts() {
  while (costs_->HasQuestions() && questions_open_ < kOpenBatches) {
    auto questions = costs_->TakeQuestions(kBatch);
    std::vector<std::uint32_t> entries;
    for (const auto& question : questions) entries.push_back(question.entry);
    metrics_->estimates_asked.Increment(static_cast<double>(entries.size()));
    ++questions_open_;
    timing_->Ask(std::move(questions), [this, entries](const auto& answer) {
      --questions_open_;
      if (!answer.has_value()) return ServiceLost(answer.error());
      for (std::size_t i = 0; i < entries.size(); ++i) costs_->Learn(entries[i], (*answer)[i]);
    });
  }
}

std::optional<session::SessionHost::CollectiveEstimate> Agent::FindEstimate(
    std::uint64_t communicator, const v1::Operation& op) {
  std::string key = op.SerializeAsString();
  key.append(reinterpret_cast<const char*>(&communicator), sizeof(communicator));
  const auto [found, is_new] = estimates_.emplace(key, std::nullopt);
  if (!is_new) return found->second;
  ++questions_open_;
  network_->Estimate(communicator, op, [this, key](const auto& answer) {
    --questions_open_;
    if (!answer.has_value()) return ServiceLost(answer.error());
    estimates_[key] = {.duration = TimeOf(answer->duration_picoseconds()) - SimTime{},
                       .channels = answer->channels()};
  });
  return std::nullopt;
}

void Agent::SendToNetwork(v1::SessionRequest request) { network_->Send(std::move(request)); }

// What the network has settled cannot change any more. A rank that is late (an unmodelled side
// channel) is moved to the settled time and counted.
SimTime Agent::ClampReady(SimTime ready) {
  if (ready >= settled_) return ready;
  ++clamped_;
  metrics_->clamped_posts.Increment();
  return settled_;
}

std::uint64_t Agent::NewRequest(std::uint32_t process) {
  const std::uint64_t request = next_request_++;
  requests_[request] = process;
  return request;
}

void Agent::OnNetworkMessage(const v1::SessionResponse& message) {
  active_ = true;
  switch (message.message_case()) {
    case v1::SessionResponse::kJoined: {
      ++processed_;
      world_met_ = world_met_ || ranks_->IsWorld(message.joined().size());
      // Its finish may lie beyond the horizon: it settles nothing for those that are not members.
      const auto request = requests_.extract(message.joined().request());
      if (!request.empty()) sessions_.at(request.mapped())->OnJoined(message.joined());
      break;
    }
    case v1::SessionResponse::kCommitted:
      OnCommitted(message);
      break;
    case v1::SessionResponse::kValues:
      for (const auto& [number, session] : sessions_) session->OnValues(message.values());
      break;
    case v1::SessionResponse::kSafeThrough:
      OnSafeThrough(TimeOf(message.safe_through().time_picoseconds()),
                    message.safe_through().released());
      break;
    case v1::SessionResponse::kDeadlock:
      End({.reason = outcome::Reason::kDeadlock, .message = message.deadlock().report()});
      break;
    case v1::SessionResponse::kFailed: {
      const auto& failed = message.failed();
      const auto request = requests_.extract(failed.request());
      if (!request.empty()) {
        sessions_.at(request.mapped())->OnJoinFailed(failed.request(), failed.reason());
      }
      for (const auto& [number, session] : sessions_) {
        session->OnCommunicatorFailed(failed.communicator(), failed.reason());
      }
      End({.reason = failed.server_gone() ? outcome::Reason::kPeerLost
                                          : outcome::Reason::kCollectiveMismatch,
           .message = failed.reason()});
      break;
    }
    case v1::SessionResponse::kBatch:  // The client takes it apart.
    case v1::SessionResponse::MESSAGE_NOT_SET:
      break;
  }
}

void Agent::OnCommitted(const v1::SessionResponse& message) {
  const v1::Committed& committed = message.committed();
  ++processed_;
  const std::uint32_t basis =
      costs_->InternBasis(SourceOf(committed.source()), committed.relative_error(),
                          StrCat("nccl ", committed.algorithm(), " ", committed.protocol()),
                          costs_->InternName("collective"));
  // Posts that follow from this lie at its end or later, and so does everything else that may come.
  settled_ = std::max(settled_, TimeOf(committed.finish_picoseconds()));
  bool known = false;
  for (const auto& [number, session] : sessions_) {
    known = session->OnCommitted({.communicator = committed.communicator(),
                                  .sequence = committed.sequence(),
                                  .member = committed.rank(),
                                  .start = TimeOf(committed.start_picoseconds()),
                                  .finish = TimeOf(committed.finish_picoseconds()),
                                  .basis = basis}) ||
            known;
    session->AnswerMoments();
  }
  if (!known) {
    base::Log(base::Level::kWarning, "unknown_commitment",
              {{"communicator", StrCat(committed.communicator())},
               {"sequence", StrCat(committed.sequence())}});
  }
}

void Agent::OnSafeThrough(SimTime time, bool released) {
  safe_through_ = std::max(safe_through_, time);
  settled_ = std::max(settled_, time);
  if (released) {
    // Ranks that slept through this time continue at it. The claim has been used up.
    for (const auto& [number, session] : sessions_) session->RaiseFloor(time);
    page_->RaiseJobClock(static_cast<std::uint64_t>(time.ps));
    claimed_.quiescent = false;
  }
  for (const auto& [number, session] : sessions_) session->AnswerMoments();
  for (const int connection : naps_.TakeSafe(time)) ring::SendNapEnd(connection, true);
}

bool Agent::HasNews() {
  return mailbox_.size() > 0 ||
         std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second->HasNews(); });
}

void Agent::SendHorizon() {
  if (network_ == nullptr || ending_.has_value()) return;
  const std::int64_t now = clock_->MonotonicNs();
  auto wanted = horizon_.Wanted();
  const bool held_back = naps_.HoldsBack(wanted, now);
  if (const auto nap = naps_.Next()) wanted = std::min(wanted.value_or(*nap), *nap);
  const bool quiescent = quiescence_.Poll(now);
  HorizonClaim claim{.bound = horizon_.LowerBound(),
                     .processed = processed_,
                     .quiescent = quiescent && !held_back,
                     .wanted = wanted.value_or(SimTime{})};
  if (claim == claimed_) return;
  const bool only_clock = claim.processed == claimed_.processed &&
                          claim.quiescent == claimed_.quiescent &&
                          claim.wanted == claimed_.wanted && claim.bound != SimTime::Max() &&
                          claimed_.bound != SimTime::Max();
  if (only_clock && now - claimed_ns_ < kClaimEveryNs) return;
  claimed_ = claim;
  claimed_ns_ = now;
  v1::SessionRequest request;
  v1::Horizon* horizon = request.mutable_horizon();
  const bool infinite = claim.bound == SimTime::Max();
  horizon->set_lower_bound_picoseconds(infinite ? std::numeric_limits<std::uint64_t>::max()
                                                : static_cast<std::uint64_t>(claim.bound.ps));
  horizon->set_processed(claim.processed);
  horizon->set_quiescent(claim.quiescent);
  horizon->set_wanted_picoseconds(static_cast<std::uint64_t>(claim.wanted.ps));
  network_->Send(std::move(request));
}

}  // namespace eidolon::agent::server
