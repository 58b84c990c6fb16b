// Jobs start at different moments of one fabric, so each has an epoch: times are moved to the
// fabric's when they come in and to the job's own when they leave, and SimTime::Max() stays never
// in both directions. An event may be committed only up to the horizon. When every session sleeps,
// no promise will come any more, and Progress moves the horizon to the next event itself. Then all
// claims of quiescence are void, because any process may have been woken. A deadlock is reported
// only after all sessions have been asked a second time and nothing but promises has come in
// between.
#include "services/network/simulation/simulation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::network::simulation {

using base::Result;
using base::SimTime;
using base::StrCat;
using communicator::Notice;

namespace {

// Sessions in the order of (job, server).
horizon::SessionId SessionOf(std::uint64_t job, std::uint32_t server) {
  return (job << 32) + server;
}
std::uint64_t JobOf(horizon::SessionId session) { return session >> 32; }
std::uint32_t ServerOf(horizon::SessionId session) {
  return static_cast<std::uint32_t>(session & 0xffffffffu);
}

constexpr std::uint32_t kPermille = 1000;

base::Duration Scaled(base::Duration duration, std::uint32_t permille) {
  if (permille == kPermille) return duration;
  __extension__ typedef __int128 Wide;
  const Wide scaled = static_cast<Wide>(duration.ps) * permille / kPermille;
  return {static_cast<std::int64_t>(std::min<Wide>(scaled, SimTime::Max().ps / 2))};
}

// Max() stays what it is: never.
SimTime Later(SimTime time, SimTime epoch) { return flow::Later(time, epoch - SimTime{}); }

SimTime Earlier(SimTime time, SimTime epoch) {
  return time == SimTime::Max() ? time : SimTime{std::max<std::int64_t>(0, time.ps - epoch.ps)};
}

// The times within a notice, moved to the job's own.
void ToJobTime(Notice& notice, SimTime epoch) {
  if (auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
    joined->finish = Earlier(joined->finish, epoch);
  } else if (auto* committed = std::get_if<communicator::CommittedNotice>(&notice)) {
    committed->start = Earlier(committed->start, epoch);
    committed->finish = Earlier(committed->finish, epoch);
  } else if (auto* safe = std::get_if<communicator::SafeThroughNotice>(&notice)) {
    safe->time = Earlier(safe->time, epoch);
  } else if (auto* bound = std::get_if<communicator::NotBeforeNotice>(&notice)) {
    bound->end = Earlier(bound->end, epoch);
  }
}

// The first of many names.
std::string Shortened(std::vector<std::string> names) {
  constexpr std::size_t kNamesMax = 8;
  const std::size_t more = names.size() > kNamesMax ? names.size() - kNamesMax : 0;
  names.resize(names.size() - more);
  return base::Join(names, "; ") + (more > 0 ? StrCat("; ", more, " more") : std::string());
}

}  // namespace

Simulation::Simulation(topology::Topology topology, Listener& listener)
    : topology_(std::move(topology)),
      listener_(listener),
      transfers_(topology_.Capacities(), topology_.TierNumbers()) {
  FindTiers();
  for (const topology::Background& traffic : topology_.wiring().cluster.background) {
    transfers_.AddBackground(BackgroundUses(traffic), traffic.weight);
  }
}

void Simulation::FindTiers() {
  tier_of_.resize(topology_.LinkCount());
  for (topology::LinkIndex link = 0; link < topology_.LinkCount(); ++link) {
    const std::string_view name = topology_.TierOf(link);
    // Links of one tier mostly follow each other.
    std::size_t at = tiers_.size();
    while (at > 0 && tiers_[at - 1].name != name) --at;
    if (at == 0) {
      tiers_.push_back({.name = std::string(name)});
      at = tiers_.size();
    }
    tier_of_[link] = static_cast<std::uint8_t>(at - 1);
    tiers_[at - 1].capacity += static_cast<double>(topology_.Capacities()[link]);
  }
  statistics_.tier_bytes.assign(tiers_.size(), 0);
}

void Simulation::AddJob(std::uint64_t job, communicator::JobPlan plan) {
  const std::uint32_t permille = plan.transfer_permille;
  const auto [at, inserted] =
      jobs_.try_emplace(job, Entry{.job = communicator::Job(job, topology_, std::move(plan), *this),
                                   .transfer_permille = permille});
  CHECK(inserted);
}

void Simulation::RemoveJob(std::uint64_t job) {
  ++calls_;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  for (std::uint32_t server = 0; server < found->second.job.servers(); ++server) {
    const auto session = SessionOf(job, server);
    if (horizon_.Knows(session)) horizon_.Disconnect(session);
  }
  for (const std::uint32_t server : found->second.keeps_loads) {
    for (const ServerLink& link : LinksOf(found->second.job.PositionOf(server))) {
      transfers_.Forget(link.link);
    }
  }
  jobs_.erase(found);
  transfers_.Cancel(job);
}

Simulation::Entry& Simulation::Job(std::uint64_t job) {
  const auto found = jobs_.find(job);
  CHECK(found != jobs_.end());
  return found->second;
}

Result<void> Simulation::Connect(std::uint64_t job, std::uint32_t server) {
  ++calls_;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return base::Fail(base::ErrorCode::kNotFound, "the job has ended");
  Entry& entry = found->second;
  if (server >= entry.job.servers()) {
    return base::Fail(
        base::ErrorCode::kInvalidArgument,
        StrCat("server ", server, " of a job with ", entry.job.servers(), " servers"));
  }
  if (!entry.started) {
    entry.started = true;
    entry.epoch = transfers_.now();
    for (const std::uint32_t other : entry.job.LiveServers()) {
      horizon_.Expect(SessionOf(job, other), entry.epoch);
    }
  }
  const auto session = SessionOf(job, server);
  if (!horizon_.Knows(session) || horizon_.Connected(session)) {
    return base::Fail(base::ErrorCode::kAlreadyExists,
                      StrCat("server ", server, " has connected before"));
  }
  horizon_.Connect(session);
  return {};
}

void Simulation::Disconnect(std::uint64_t job, std::uint32_t server) {
  ++calls_;
  const auto found = jobs_.find(job);
  const auto session = SessionOf(job, server);
  if (found == jobs_.end() || !horizon_.Knows(session)) return;
  horizon_.Disconnect(session);
  found->second.job.Disconnect(server);
}

Result<void> Simulation::Join(std::uint64_t job, std::uint32_t server, const std::string& unique_id,
                              std::int32_t size, communicator::Arrival arrival) {
  ++calls_;
  Entry& entry = Job(job);
  arrival.ready = Later(arrival.ready, entry.epoch);
  return entry.job.Join(server, unique_id, size, std::move(arrival));
}

Result<void> Simulation::Split(std::uint64_t job, std::uint32_t server, std::uint64_t parent,
                               communicator::Arrival arrival) {
  ++calls_;
  Entry& entry = Job(job);
  arrival.ready = Later(arrival.ready, entry.epoch);
  return entry.job.Split(server, parent, std::move(arrival));
}

Result<void> Simulation::Issue(std::uint64_t job, std::uint32_t server,
                               communicator::IssueCall call) {
  ++calls_;
  return Job(job).job.Issue(server, std::move(call));
}

Result<void> Simulation::Post(std::uint64_t job, std::uint32_t server,
                              communicator::PostCall call) {
  ++calls_;
  Entry& entry = Job(job);
  call.ready = Later(call.ready, entry.epoch);
  return entry.job.Post(server, call);
}

Result<void> Simulation::Bound(std::uint64_t job, std::uint32_t server,
                               communicator::PostCall call) {
  Entry& entry = Job(job);
  call.ready = Later(call.ready, entry.epoch);
  return entry.job.Bound(server, call);
}

Result<void> Simulation::Leave(std::uint64_t job, std::uint32_t server, std::uint64_t communicator,
                               std::int32_t rank) {
  ++calls_;
  return Job(job).job.Leave(server, communicator, rank);
}

Result<void> Simulation::Keep(std::uint64_t job, std::uint32_t server, horizon::Promise promise) {
  const Entry& entry = Job(job);
  promise.lower_bound = Later(promise.lower_bound, entry.epoch);
  if (promise.wanted) promise.wanted = Later(*promise.wanted, entry.epoch);
  for (auto& bound : promise.own_bounds) bound.time = Later(bound.time, entry.epoch);
  return horizon_.Keep(SessionOf(job, server), promise);
}

Result<collective::Cost> Simulation::Estimate(std::uint64_t job, std::uint64_t communicator,
                                              const communicator::Operation& operation) const {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return base::Fail(base::ErrorCode::kNotFound, "the job has ended");
  auto cost = found->second.job.Estimate(communicator, operation);
  if (cost) {
    cost->latency = Scaled(cost->latency, found->second.transfer_permille);
    cost->transfer = Scaled(cost->transfer, found->second.transfer_permille);
  }
  return cost;
}

void Simulation::Tell(std::uint64_t job, std::uint32_t server, Notice notice) {
  const auto session = SessionOf(job, server);
  // The agent's reactions to these come at their time or later.
  if (const auto* joined = std::get_if<communicator::JoinedNotice>(&notice)) {
    horizon_.Sent(session, joined->finish);
  } else if (const auto* committed = std::get_if<communicator::CommittedNotice>(&notice)) {
    horizon_.Sent(session, committed->finish);
  } else if (const auto* failed = std::get_if<communicator::FailedNotice>(&notice)) {
    // Jobs end server by server: the ranks of the others wait for those that have gone.
    if (!failed->server_gone && !failed->job_goes_on) ++statistics_.failures;
  }
  ToJobTime(notice, Job(job).epoch);
  listener_.Tell(job, server, notice);
}

void Simulation::Start(flow::Transfer transfer) {
  ++statistics_.transfers;
  const std::uint32_t permille = Job(transfer.key.job).transfer_permille;
  transfer.latency = Scaled(transfer.latency, permille);
  transfer.alone = Scaled(transfer.alone, permille);
  if (transfer.start < transfers_.now()) {
    ++statistics_.clamped;
    transfer.start = transfers_.now();
  }
  for (const flow::LinkUse& use : transfer.Links()) {
    statistics_.tier_bytes[tier_of_[use.link]] +=
        static_cast<double>(use.bytes_per_second) * transfer.alone.Seconds();
  }
  if (!Job(transfer.key.job).job.DecidersOf(transfer.key).empty()) {
    quarantined_[{transfer.key.job, transfer.key.communicator}].insert(
        transfers_.AloneOf(transfer));
  }
  transfers_.Add(std::move(transfer));
}

// The engine goes on with what was foreseen, and comes to the same end when the horizon does.
void Simulation::Foresee() {
  for (auto at = quarantined_.begin(); at != quarantined_.end();) {
    auto& [communicator, open] = *at;
    const auto job = jobs_.find(communicator.first);
    if (job == jobs_.end()) open.clear();
    while (!open.empty() && open.begin()->finish <= transfers_.now()) open.erase(open.begin());
    while (!open.empty() && IsDecided(job->second, *open.begin())) {
      if (!job->second.job.Foresee(*open.begin())) break;
      ++statistics_.foreseen;
      open.erase(open.begin());
    }
    at = open.empty() ? quarantined_.erase(at) : std::next(at);
  }
}

bool Simulation::IsDecided(const Entry& entry, const flow::Finish& finish) const {
  return std::ranges::all_of(entry.job.DecidersOf(finish.key),
                             [&](const communicator::Decider& decider) {
                               const auto session = SessionOf(finish.key.job, decider.server);
                               return horizon_.OwnBound(session, decider.device) >= finish.finish;
                             });
}

void Simulation::Ended(collective::Algorithm algorithm, collective::Protocol protocol) {
  listener_.Ended(algorithm, protocol);
}

void Simulation::Cancel(std::uint64_t job, std::uint64_t communicator) {
  transfers_.Cancel(job, communicator);
}

std::vector<flow::LinkUse> Simulation::BackgroundUses(const topology::Background& traffic) const {
  const auto rate = static_cast<std::uint64_t>(traffic.gigabits_per_second * 1e9 / 8);
  topology::Route route;
  route.Append(topology_.NicOut(traffic.from, traffic.rail));
  topology_.AppendFabric({traffic.from, traffic.rail}, {traffic.to, traffic.rail}, 0, route);
  route.Append(topology_.NicIn(traffic.to, traffic.rail));
  std::vector<flow::LinkUse> uses;
  for (topology::LinkIndex link : route.Links()) {
    uses.push_back({link, std::min(rate, topology_.Capacities()[link])});
  }
  return uses;
}

// A fault concerns only what is under way. While nothing is, it does not count as an event, and it
// happens as soon as the next transfer is there.
std::optional<SimTime> Simulation::NextChange() const {
  if (next_change_ == topology_.changes().size() || transfers_.Active() == 0) return std::nullopt;
  const SimTime at = std::max(topology_.changes()[next_change_].at, transfers_.now());
  const auto event = transfers_.NextTime();
  if (event && *event <= at) return std::nullopt;
  return at;
}

// All that the faults of one instant do. Transfers that were made known before a fault and those
// after it must take the same ways, so the ways of all of them are asked for anew.
void Simulation::Change(SimTime time) {
  transfers_.AdvanceTo(time);
  bool rerouted = false;
  const auto changes = topology_.changes();
  for (; next_change_ < changes.size() && changes[next_change_].at <= time; ++next_change_) {
    const topology::LinkChange& change = changes[next_change_];
    transfers_.SetCapacity(change.link, change.capacity);
    rerouted |= topology_.SetFailed(change.link, change.capacity == 0);
  }
  if (!rerouted) return;
  for (auto& [number, entry] : jobs_) entry.job.ForgetRoutes();
  transfers_.Reroute([this](const flow::Transfer& transfer) {
    return Job(transfer.key.job).job.UsesOf(transfer);
  });
  const auto& background = topology_.wiring().cluster.background;
  for (std::size_t at = 0; at < background.size(); ++at) {
    transfers_.RerouteBackground(at, BackgroundUses(background[at]));
  }
}

void Simulation::RunToHorizon() {
  std::vector<flow::Finish> finished;
  for (;;) {
    if (const auto change = NextChange(); change && *change <= horizon_.Safe()) {
      Change(*change);
      continue;
    }
    const auto next = transfers_.NextTime();
    if (!next || *next > horizon_.Safe()) break;
    finished.clear();
    transfers_.Advance(finished);
    for (flow::Finish& finish : finished) {
      const auto found = jobs_.find(finish.key.job);
      if (found != jobs_.end()) found->second.job.Finished(std::move(finish));
    }
  }
  statistics_.events = transfers_.events();
}

std::optional<SimTime> Simulation::NextRelease() const {
  auto event = transfers_.NextTime();
  // Nobody hears of a fault, but what stands still may go on after it.
  if (const auto change = NextChange()) event = change;
  const auto wanted = horizon_.EarliestWanted();
  if (event && wanted) return std::min(*event, *wanted);
  return event ? event : wanted;
}

void Simulation::TellSession(horizon::SessionId session, SimTime time, bool released) {
  Tell(JobOf(session), ServerOf(session),
       communicator::SafeThroughNotice{.time = time, .released = released});
}

void Simulation::Progress() {
  RunToHorizon();
  Foresee();
  std::optional<SimTime> released;
  // Events inside the simulation wake nobody: go on to the first that is told.
  while (horizon_.AllQuiescent()) {
    const auto next = NextRelease();
    if (!next) break;
    released = next;
    horizon_.Release(*next);
    RunToHorizon();
    if (!horizon_.TakeWanted(*next).empty()) break;
  }
  if (released) {
    ++statistics_.releases;
    ++calls_;
    horizon_.EndQuiescence();
    for (horizon::SessionId session : horizon_.Sessions()) TellSession(session, *released, true);
  }
  for (const auto& wait : horizon_.TakeWanted(horizon_.Safe())) {
    TellSession(wait.session, wait.wanted, false);
  }
}

bool Simulation::Stuck() const {
  if (!horizon_.AllQuiescent() || NextRelease()) return false;
  return std::any_of(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
    if (entry.second.deadlock_reported) return false;
    return transfers_.Active() > 0 || !entry.second.job.Waits().empty();
  });
}

void Simulation::AskAgain() {
  asked_at_ = calls_;
  // A release to the moment where everyone is already: it uses the claims up and moves nothing.
  horizon_.EndQuiescence();
  for (horizon::SessionId session : horizon_.Sessions()) {
    TellSession(session, horizon_.floor(), true);
  }
}

void Simulation::ReportDeadlock() {
  for (auto& [number, entry] : jobs_) {
    if (entry.deadlock_reported) continue;
    if (entry.job.FailWaitsInVain()) {
      entry.deadlock_reported = true;
      continue;
    }
    std::vector<std::string> waits = entry.job.Waits();
    if (const std::size_t still = transfers_.Active(); still > 0) {
      waits.push_back(StrCat(still, " transfers stand still: a link on their way has failed (",
                             Shortened(topology_.FailedLinks()), ")"));
    }
    if (waits.empty()) continue;
    entry.deadlock_reported = true;
    ++statistics_.deadlocks;
    const std::string report =
        StrCat("every process waits and nothing is left that could wake one:\n  ",
               base::Join(waits, "\n  "));
    for (std::uint32_t server = 0; server < entry.job.servers(); ++server) {
      if (!horizon_.Knows(SessionOf(number, server))) continue;
      Tell(number, server, communicator::DeadlockNotice{.report = report});
    }
  }
}

base::Duration Simulation::Lag() {
  const auto next = transfers_.NextTime();
  const SimTime safe = horizon_.Safe();
  return next && *next > safe ? *next - safe : base::Duration{};
}

}  // namespace eidolon::network::simulation
