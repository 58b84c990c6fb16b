// Handles notices of processes and of the network, and their consequences. `processed_` counts the
// answers that move time (joined, committed). The horizon names it only after their consequences
// have been applied, because the network holds this server back until then. A committed end settles
// all times before it, unless it was foreseen: other servers are not there yet. A release lets
// ranks that slept continue at its time and uses the claim of quiescence up. A process that has
// hung up stays until its last records are applied, since work that it launched just before still
// takes its time.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "eidolon/network/v1/network.pb.h"
#include "services/agent/ring/listener.h"
#include "services/agent/server/agent.h"
#include "services/agent/server/sensors.h"
#include "services/agent/session/session.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/critical_path/links.h"
#include "services/contract/folding/wire/fold_message.h"

namespace eidolon::agent::server {

namespace network_v1 = network::v1;
namespace wire = ::eidolon::ring;
using base::SimTime;
using base::StrCat;

namespace {

constexpr int kDrainLimit = 1 << 14;  // Records of one session before the others are read.

outcome::Ending EndingOf(const network_v1::CommunicatorFailed& failed) {
  outcome::Ending ending = {.reason = outcome::Reason::kCollectiveMismatch,
                            .message = failed.reason()};
  if (failed.server_gone()) {
    ending.reason = outcome::Reason::kPeerLost;
  } else if (failed.ranks_differ_by_size() > 0) {
    ending.reason = outcome::Reason::kRanksDiffer;
    ending.ranks_differ_by = folding::DimensionsFrom(failed.ranks_differ_by());
  }
  return ending;
}

}  // namespace

void Agent::OnHello(int connection, const wire::Hello& hello) {
  active_ = true;
  const auto admitted = processes_->Admit(connection, hello, page_->doorbell_descriptor());
  if (admitted.has_value()) {
    if (!job_->assignment.has_replay()) deaths_->Observe(processes_->connections().at(connection));
    return metrics_->sessions.Increment();
  }
  ring::SendRefusal(connection, admitted.error().message);
  base::Log(base::Level::kWarning, "process_refused", {{"reason", admitted.error().message}});
  // The hang-up that follows closes the connection.
}

void Agent::OnVirtualSleep(int connection, const wire::VirtualSleep& virtual_sleep) {
  new_virtual_sleeps_[connection] = virtual_sleep;
}

void Agent::SettleVirtualSleeps(base::SimTime latest) {
  for (const auto& [connection, virtual_sleep] : std::exchange(new_virtual_sleeps_, {})) {
    const bool known =
        processes_->MayVirtualSleep(virtual_sleep) &&
        virtual_sleeps_.Begin(connection, virtual_sleep, latest, clock_->MonotonicNs());
    // Others may tell of an earlier moment: they get as much time as after a record. A sleep
    // outside of virtual time moves nothing: launchers poll so for what never comes.
    active_ = active_ || known;
    if (!known) ring::SendVirtualSleepEnd(connection, false);
  }
  for (const int connection : virtual_sleeps_.TakeReached(latest))
    ring::SendVirtualSleepEnd(connection, true);
}

void Agent::OnHangUp(int connection) {
  ProcessListener::CloseConnection(connection);
  const bool was_sleeping =
      virtual_sleeps_.End(connection) || new_virtual_sleeps_.erase(connection) > 0;
  const auto process = processes_->Disconnect(connection);
  active_ = active_ || was_sleeping || process.has_value();
  if (!process.has_value()) return;
  leaving_.push_back(*process);
  SettleLeaving();
  processes_->ranks().NoteGone(*process);
  // The end of a process shows for a moment only, so it is examined although costs may be missing.
  if (replay_ == nullptr) deaths_->Add(*process);
}

// Processes whose connections ended. Their last records count, an iteration may end with them, and
// work that was launched just before the end takes its time: a process stays until all is applied.
void Agent::SettleLeaving() {
  std::erase_if(leaving_, [this](std::uint32_t process) {
    session::Session& session = processes_->at(process);
    while (true) {
      const auto moved = session.Drain(kDrainLimit);
      if (!moved.has_value()) EndDamaged(session, moved.error());
      if (!moved.has_value() || !*moved) break;
    }
    if (session.awaits_costs() && !ending_.has_value()) return false;
    session.MarkGone();
    metrics_->sessions.Decrement();
    return true;
  });
}

// The recorded ranks write on. Once all are at their end and nothing moves any more, the program
// has ended.
bool Agent::AdvanceReplay() {
  if (replay_ == nullptr || ending_.has_value()) return false;
  const auto moved = replay_->Advance();
  if (!moved) {
    End({.reason = outcome::Reason::kCommandFailed, .message = moved.error().message});
    return false;
  }
  const bool is_open = std::ranges::any_of(
      processes_->all(), [](const auto& entry) { return entry.second->open_operations() > 0; });
  const bool was_over = command_status_.has_value();
  if (replay_->have_ended() && !was_over && leaving_.empty() && (!is_open || !active_)) {
    command_status_ = launch::ExitStatus{};
    command_ended_ns_ = clock_->MonotonicNs();
  }
  if (was_over && active_) command_ended_ns_ = clock_->MonotonicNs();
  return *moved;
}

bool Agent::DrainSessions() {
  bool moved = false;
  base::SimTime latest;
  std::uint64_t backlog = 0;
  for (const auto& [number, session] : processes_->all()) {
    const auto drained = session->Drain(kDrainLimit);
    if (!drained.has_value()) {
      EndDamaged(*session, drained.error());
      return false;
    }
    moved = moved || *drained;
    latest = std::max(latest, session->known_clock());
    backlog += session->ring_backlog();
  }
  CountMissing();
  if (page_.has_value()) {
    page_->RaiseJobClock(static_cast<std::uint64_t>(latest.ps));
    // The time is that to which the job was released last.
    SettleVirtualSleeps({static_cast<std::int64_t>(page_->job_clock_ps())});
  }
  metrics_->ring_backlog_bytes.Set(static_cast<double>(backlog));
  return moved;
}

void Agent::EndDamaged(const session::Session& session, const base::Error& damage) {
  const session::SessionOptions& who = session.options();
  End({.reason = outcome::Reason::kRingDamaged,
       .message = StrCat("rank ", processes_->ranks().NameOf(who.number), " (pid ", who.pid,
                         "): ", damage.message)});
}

std::int32_t Agent::CommunicatorEntered(std::uint32_t process, const CommunicatorEntry& entry) {
  processes_->ranks().Enter(
      process, {.communicator = entry.unique_id, .size = entry.size, .rank = entry.rank});
  RanksChanged();
  return processes_->ranks().NameOf(process);
}

::eidolon::ring::DeviceSensors Agent::SensorsOf(std::uint16_t device,
                                                std::optional<base::SimTime> time) const {
  return ReadSensors(*job_, *processes_, device, time.value_or(LatestClock(*processes_)));
}

void Agent::WorkBegan(session::Session& session, std::uint32_t device) {
  processes_->ranks().NoteWork(session.options().number, device);
}

void Agent::IterationEnded(session::Session& session, const iteration::Report& report) {
  const auto rank = processes_->ranks().EndIteration(session.options().number);
  RanksChanged();
  if (rank.has_value()) return reports_->SendIteration(session, *rank, report);
  reports_->HoldIteration(session, report);
}

void Agent::RequestRefused(session::Session& session) {
  for (const auto& [index, memory] : session.memory().devices()) {
    if (memory.refused == 0) continue;
    const session::MemorySplit& now = memory.now;
    verdict_.NoteRefusal({.rank = processes_->ranks().NameOf(session.options().number),
                          .device = index,
                          .asked_bytes = memory.refused,
                          .booked_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(
                              0, now.allocations + now.workspace + now.nccl + now.context)),
                          .capacity_bytes = job_->content.devices[index].memory_bytes});
  }
}

void Agent::CallRefused(session::Session&, const std::string& name) {
  verdict_.NoteRefusedCall(name, job_->assignment.strict());
}

// Who has lost a rank does not hold the others up; what the new ones had to report is due.
void Agent::RanksChanged() {
  processes_->GiveUpDisplaced();
  reports_->SendHeld();
}

void Agent::CountMissing() { horizon_.SetMissing(processes_->CountMissing(world_met_)); }

void Agent::SendToNetwork(network_v1::SessionRequest request) {
  network_->Send(std::move(request));
}

std::optional<session::SessionHost::CollectiveEstimate> Agent::FindEstimate(
    std::uint64_t communicator, const network_v1::Operation& op) {
  return questions_->FindEstimate(communicator, op);
}

std::uint64_t Agent::NewRequest(std::uint32_t process) {
  const std::uint64_t request = next_request_++;
  requests_[request] = process;
  return request;
}

void Agent::ServiceLost(const base::Error& error) {
  End({.reason = outcome::Reason::kServiceLost, .message = error.message});
}

void Agent::OnNetworkMessage(const network_v1::SessionResponse& message) {
  active_ = true;
  switch (message.message_case()) {
    case network_v1::SessionResponse::kJoined: {
      ++processed_;
      world_met_ = world_met_ || processes_->ranks().IsWorld(message.joined().size());
      // Its finish may lie beyond the horizon: it settles nothing for those that are not members.
      const auto request = requests_.extract(message.joined().request());
      if (!request.empty()) processes_->at(request.mapped()).OnJoined(message.joined());
      break;
    }
    case network_v1::SessionResponse::kCommitted:
      OnCommitted(message);
      break;
    case network_v1::SessionResponse::kValues: {
      impasse_.NoteValues();
      network_v1::Values values = message.values();
      // What was guessed for mirrored ranks stands in the recording, which has no values.
      if (job_->assignment.has_replay()) values.clear_guessed();
      for (const auto& [number, session] : processes_->all()) session->OnValues(values);
      break;
    }
    case network_v1::SessionResponse::kNotBefore:
      for (const auto& [number, session] : processes_->all()) {
        if (session->OnNotBefore(message.not_before())) session->AnswerMoments();
      }
      break;
    case network_v1::SessionResponse::kWorkDiffers: {
      const auto rank = static_cast<std::int32_t>(message.work_differs().rank());
      for (const auto& [number, session] : processes_->all()) {
        if (processes_->ranks().RankOf(number) != rank) continue;
        session->OnWorkDiffers(message.work_differs().where());
      }
      break;
    }
    case network_v1::SessionResponse::kSafeThrough:
      OnSafeThrough(TimeOf(message.safe_through().time_picoseconds()),
                    message.safe_through().released());
      break;
    case network_v1::SessionResponse::kDeadlock: {
      const std::string unknown = watch_.DescribeUnknownRanks(*processes_);
      End({.reason = outcome::Reason::kDeadlock,
           .message = StrCat(message.deadlock().report(), unknown.empty() ? "" : "; ", unknown)});
      break;
    }
    case network_v1::SessionResponse::kFailed: {
      const auto& failed = message.failed();
      if (failed.job_goes_on()) {
        verdict_.NoteWaitInVain(failed.reason());
        base::Log(base::Level::kWarning, "waits_in_vain", {{"reason", failed.reason()}});
        break;
      }
      const auto request = requests_.extract(failed.request());
      if (!request.empty()) {
        processes_->at(request.mapped()).OnJoinFailed(failed.request(), failed.reason());
      }
      for (const auto& [number, session] : processes_->all()) {
        session->OnCommunicatorFailed(failed.communicator(), failed.reason());
      }
      End(EndingOf(failed));
      break;
    }
    case network_v1::SessionResponse::kBatch:  // The client takes it apart.
    case network_v1::SessionResponse::MESSAGE_NOT_SET:
      break;
  }
}

namespace {

// What the service does not name, or names in another version's numbers, is of no known link.
std::vector<critical_path::LinkTime> LinksOf(const network_v1::Committed& committed) {
  std::vector<critical_path::LinkTime> links;
  const int count = std::min(committed.tiers_size(), committed.tier_picoseconds_size());
  for (int at = 0; at < count; ++at) {
    const auto tier = static_cast<std::size_t>(committed.tiers(at));
    links.push_back({.time = TimeOf(committed.tier_picoseconds(at)) - SimTime{},
                     .tier = tier < critical_path::kLinkTiers
                                 ? static_cast<critical_path::LinkTier>(tier)
                                 : critical_path::LinkTier::kUnknown,
                     .link = at < committed.tier_links_size() ? committed.tier_links(at) : 0});
  }
  return links;
}

}  // namespace

void Agent::OnCommitted(const network_v1::SessionResponse& message) {
  const network_v1::Committed& committed = message.committed();
  const std::vector<critical_path::LinkTime> links = LinksOf(committed);
  ++processed_;
  const std::uint32_t basis =
      costs_->InternBasis(costs_->KnownSource(committed.source()), committed.relative_error(),
                          StrCat("nccl ", committed.algorithm(), " ", committed.protocol()),
                          costs_->InternName("collective"));
  // Posts that follow from this lie at its end or later, and so does everything else that may come.
  if (!committed.foreseen()) time_.Settle(TimeOf(committed.finish_picoseconds()));
  bool known = false;
  for (const auto& [number, session] : processes_->all()) {
    known = session->OnCommitted({.communicator = committed.communicator(),
                                  .sequence = committed.sequence(),
                                  .member = committed.rank(),
                                  .start = TimeOf(committed.start_picoseconds()),
                                  .finish = TimeOf(committed.finish_picoseconds()),
                                  .basis = basis,
                                  .links = links}) ||
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
  time_.SetSafe(time);
  if (released) {
    // Ranks that slept through this time continue at it. The claim has been used up.
    for (const auto& [number, session] : processes_->all()) session->RaiseFloor(time);
    horizon_.PassOverValueWaits();
    page_->RaiseJobClock(static_cast<std::uint64_t>(time.ps));
    claims_.UseUp();
  }
  for (const auto& [number, session] : processes_->all()) session->AnswerMoments();
  for (const int connection : virtual_sleeps_.TakeSafe(time))
    ring::SendVirtualSleepEnd(connection, true);
}

bool Agent::HasNews() { return mailbox_.size() > 0 || processes_->HasNews(); }

bool Agent::IsAboutToEnd() const {
  return command_status_.has_value() || deaths_->is_judging() || verdict_.has_rank_death() ||
         verdict_.has_lost_session();
}

void Agent::BreakImpasse() {
  if (!impasse_.IsToBeBroken(clock_->MonotonicNs(), horizon_)) return;
  std::optional<SimTime> earliest;
  for (const auto& [number, session] : processes_->all()) {
    const auto asked = session->EarliestQuery();
    if (asked.has_value()) earliest = std::min(earliest.value_or(*asked), *asked);
  }
  if (!earliest.has_value()) return;
  impasse_.NoteAnswer();
  for (const auto& [number, session] : processes_->all()) session->AnswerUndecided(*earliest);
}

std::vector<OwnBound> Agent::OwnBounds() {
  std::vector<OwnBound> bounds;
  for (const auto& [number, session] : processes_->all()) {
    session->RaiseBounds();
    for (const std::uint32_t device : session->communicating_devices()) {
      const SimTime time = horizon_.OwnBound(number);
      const auto known = std::ranges::find(bounds, device, &OwnBound::device);
      if (known == bounds.end()) {
        bounds.push_back({.device = device, .time = time});
      } else {
        known->time = std::min(known->time, time);
      }
    }
  }
  return bounds;
}

void Agent::SendHorizon() {
  if (network_ == nullptr || ending_.has_value()) return;
  const std::int64_t now = clock_->MonotonicNs();
  auto wanted = horizon_.Wanted();
  const bool held_back = virtual_sleeps_.HoldsBack(wanted, now);
  if (const auto virtual_sleep = virtual_sleeps_.Next())
    wanted = std::min(wanted.value_or(*virtual_sleep), *virtual_sleep);
  // With the command or a rank gone this server ends the job itself and knows why: nobody shall
  // take the silence until then for a deadlock.
  const bool quiescent = quiescence_.Poll(now, horizon_.StandsForValues()) && !IsAboutToEnd();
  const HorizonClaim claim{.bound = horizon_.LowerBound(),
                           .processed = processed_,
                           .quiescent = quiescent && !held_back,
                           .wanted = wanted.value_or(SimTime{}),
                           .own_bounds = OwnBounds(),
                           .waits = horizon_.begun()};
  if (!claims_.Take(claim, now)) return;
  network_v1::SessionRequest request;
  network_v1::Horizon* horizon = request.mutable_horizon();
  const bool infinite = claim.bound == SimTime::Max();
  horizon->set_lower_bound_picoseconds(infinite ? std::numeric_limits<std::uint64_t>::max()
                                                : static_cast<std::uint64_t>(claim.bound.ps));
  horizon->set_processed(claim.processed);
  horizon->set_quiescent(claim.quiescent);
  for (const OwnBound& own : claim.own_bounds) {
    network_v1::OwnBound* bound = horizon->add_own_bounds();
    bound->set_device(own.device);
    bound->set_picoseconds(static_cast<std::uint64_t>(own.time.ps));
  }
  horizon->set_wanted_picoseconds(static_cast<std::uint64_t>(claim.wanted.ps));
  network_->Send(std::move(request));
}

}  // namespace eidolon::agent::server
