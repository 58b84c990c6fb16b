// The processes of the server: who they are, what they write, how they end.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <utility>

#include "services/agent/launch/death.h"
#include "services/agent/launch/witness.h"
#include "services/agent/outcome/plain_text.h"
#include "services/agent/ring/listener.h"
#include "services/agent/server/agent.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/process/process_tree.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

constexpr int kDrainLimit = 1 << 14;  // Records of one session before the others get their turn.
constexpr std::int64_t kLongestDyingNs = 5'000'000'000;

constexpr std::string_view kCutOff =
    "closed its connection to the agent and went on without it, as a program does that closes "
    "descriptors which it has not opened (by a system call of its own); what it did from then on "
    "is "
    "missing";
constexpr std::string_view kReplaced =
    "replaced itself by another program (exec) that has no emulated GPU of its own; what it would "
    "have done is missing";
constexpr std::int64_t kTellStillMs = 1'000;
constexpr std::size_t kWitnesses = 4;

}  // namespace

void Agent::OnHello(int connection, const wire::Hello& hello) {
  active_ = true;
  const auto process = Admit(connection, hello);
  if (process.has_value()) {
    connections_[connection] = *process;
    return;
  }
  ring::SendRefusal(connection, process.error().message);
  base::Log(base::Level::kWarning, "process_refused", {{"reason", process.error().message}});
  // The hang-up that follows closes the connection.
}

void Agent::OnNap(int connection, const wire::Nap& nap) {
  active_ = true;  // Others may tell of an earlier moment: they get as much time as after a record.
  new_naps_[connection] = nap;
}

// Virtual time runs for ranks that have begun, and for what they started. What launchers wait, and
// ranks that start up, is no simulated time.
bool Agent::MayNap(std::int32_t pid) const {
  return std::any_of(sessions_.begin(), sessions_.end(), [pid](const auto& entry) {
    const session::Session& session = *entry.second;
    if (!session.is_driving() || !session.has_begun()) return false;
    const std::int32_t rank = session.options().pid;
    if (rank == pid) return true;
    const std::vector<pid_t> below = process::DescendantsOf(rank);
    return std::find(below.begin(), below.end(), pid) != below.end();
  });
}

void Agent::SettleNaps(base::SimTime latest) {
  for (const auto& [connection, nap] : std::exchange(new_naps_, {})) {
    const bool known =
        MayNap(nap.pid) && naps_.Begin(connection, nap, latest, clock_->MonotonicNs());
    if (!known) ring::SendNapEnd(connection, false);
  }
  for (const int connection : naps_.TakeReached(latest)) ring::SendNapEnd(connection, true);
}

// Where the clock of a new process begins in the fixed host model: with the job for ranks and
// whoever may become one, with its parent for the child of one that works. What the clock of the
// job shows when a process comes is a matter of real time.
std::uint64_t Agent::StartClockOf(const wire::Hello& hello) const {
  if (hello.rank >= 0 || job_->content.host_model != wire::HostModel::kFixed) return 0;
  for (const pid_t ancestor : process::AncestorsOf(hello.pid)) {
    for (const auto& [number, session] : sessions_) {
      if (session->options().pid != ancestor || !session->is_driving()) continue;
      return static_cast<std::uint64_t>(session->known_clock().ps);
    }
  }
  return 0;
}

base::Result<std::uint32_t> Agent::Admit(int connection, const wire::Hello& hello) {
  const auto& assignment = job_->assignment;
  const auto devices = static_cast<std::int32_t>(job_->content.devices.size());
  if (hello.local_rank >= devices) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("LOCAL_RANK ", hello.local_rank, ": this server has ", devices, " GPUs"));
  }
  const std::uint32_t process = next_process_++;
  auto segment = ring::Segment::Create(job_->content, process, StartClockOf(hello));
  if (!segment) return std::unexpected(segment.error());
  const ring::SharedFiles files{.segment = segment->descriptor(),
                                .doorbell = page_->doorbell_descriptor()};
  if (auto sent = ring::SendWelcome(connection, files); !sent) {
    return std::unexpected(sent.error());
  }
  const bool is_primary =
      ranks_->Introduce(process, {.rank = hello.rank, .local_rank = hello.local_rank});
  session::SessionOptions options{
      .number = process,
      .pid = hello.pid,
      .is_primary = is_primary,
      .server = assignment.server(),
      .devices = job_->traits,
      .rule = {.nvtx = assignment.iterations().nvtx(),
               .by_log = job_->log_pattern.has_value(),
               .wanted = assignment.iterations().warmup() + assignment.iterations().measure()},
      .event_log = {}};
  if (assignment.write_event_log()) {
    options.event_log = StrCat(assignment.run_directory(), "/events.", process, ".log");
  }
  sessions_[process] =
      std::make_unique<session::Session>(std::move(options), std::move(*segment), this);
  metrics_->sessions.Increment();
  return process;
}

// Ranks that have not introduced themselves may still do anything. A program whose ranks have no
// RANK is complete when it begins to work; a launcher never does. Who meets in the communicator of
// the whole job has all come.
void Agent::CountMissing() {
  const auto expected = static_cast<int>(job_->assignment.ranks_per_server());
  int ranks = 0;
  bool lone = false;
  for (const auto& [number, session] : sessions_) {
    ranks += session->options().is_primary ? 1 : 0;
    lone = lone || (!session->options().is_primary && session->is_driving());
  }
  const bool is_complete = world_met_ || (ranks == 0 && lone);
  horizon_.SetMissing(is_complete ? 0 : std::max(0, expected - ranks));
}

std::int32_t Agent::CommunicatorEntered(std::uint32_t process, const CommunicatorEntry& entry) {
  ranks_->Enter(process, {.communicator = entry.unique_id, .size = entry.size, .rank = entry.rank});
  RanksChanged();
  return ranks_->NameOf(process);
}

void Agent::WorkBegan(session::Session& session, std::uint32_t device) {
  ranks_->NoteWork(session.options().number, device);
}

// Who has lost a rank does not hold the others up; what the new ones had to report is due.
void Agent::RanksChanged() {
  for (const std::uint32_t process : ranks_->TakeDisplaced()) sessions_.at(process)->GiveUpRank();
  for (auto& [process, reports] : held_) {
    if (!ranks_->RankOf(process).has_value()) continue;
    for (const auto& report : std::exchange(reports, {})) {
      SendIteration(*ranks_->RankOf(process), report);
    }
  }
}

// The job is over: who became no rank by then is one now, or none.
void Agent::SettleRanks() {
  if (!ranks_.has_value()) return;
  for (const auto& [number, session] : sessions_) {
    if (session->memory().has_allocations()) ranks_->NoteAllocation(number);
  }
  ranks_->Settle();
  RanksChanged();
}

void Agent::OnHangUp(int connection) {
  const auto found = connections_.find(connection);
  Doorkeeper::CloseConnection(connection);
  active_ = true;
  naps_.End(connection);
  new_naps_.erase(connection);
  if (found == connections_.end()) return;
  const std::uint32_t process = found->second;
  connections_.erase(found);
  session::Session& session = *sessions_.at(process);
  // Its last records count: an iteration may end with them.
  while (true) {
    const auto moved = session.Drain(kDrainLimit);
    if (!moved.has_value()) EndDamaged(session, moved.error());
    if (!moved.has_value() || !*moved) break;
  }
  session.MarkGone();
  ranks_->NoteGone(process);
  metrics_->sessions.Decrement();
  if (ranks_->IsCertain(process) || session.launches() > 0) {
    dying_.push_back({.process = process,
                      .since_ns = clock_->MonotonicNs(),
                      .farewell = session.segment().farewell()});
  }
}

// A rank that ended badly takes the job down. Its parent will soon collect it, so this looks at
// once.
void Agent::WatchDeaths() {
  if (dying_.empty()) return;
  std::erase_if(dying_, [this](const DyingRank& dying) { return HasEnded(dying); });
}

// Whether all is known of it. Who ends says so before its socket closes; a word that comes later is
// of one that went on without it.
bool Agent::HasEnded(const DyingRank& dying) {
  const std::int64_t now = clock_->MonotonicNs();
  session::Session& session = *sessions_.at(dying.process);
  const std::int32_t pid = session.options().pid;
  const std::int32_t rank = ranks_->NameOf(dying.process);
  const bool was_silent = dying.farewell == wire::Farewell::kNone;
  const bool went_on = was_silent && session.segment().farewell() != wire::Farewell::kNone;
  const launch::Death death = launch::LookForDeath(pid);
  const bool is_alive = death.state == launch::LifeState::kAlive;
  const bool is_dead = death.state == launch::LifeState::kDead;
  // Another program in its place may introduce itself.
  if (is_alive && dying.farewell == wire::Farewell::kReplaced) return false;
  if (is_alive && !went_on && now - dying.since_ns <= kLongestDyingNs) return false;
  const bool ended_well = is_dead && death.status.ok();
  if (went_on || (is_alive && was_silent)) {
    NoteLost(session, kCutOff);
  } else if (dying.farewell == wire::Farewell::kReplaced || (was_silent && ended_well)) {
    NoteLost(session, kReplaced);
  } else if (was_silent && !is_dead && session.launches() > 0) {
    verdict_.NoteSilentEnd(rank, pid);
  }
  if (is_alive || !ranks_->IsCertain(dying.process)) return true;
  if (is_dead && !ended_well) {
    if (!verdict_.has_rank_death()) rank_died_ns_ = now;
    verdict_.NoteRankDeath({.rank = rank, .pid = pid, .status = death.status});
  }
  if (!is_dead) verdict_.NoteRankGone({.rank = rank, .pid = pid, .status = {}});
  return true;
}

// What a rank did without its session is missing; unless it had done nothing yet, or goes on in
// another one.
void Agent::NoteLost(const session::Session& lost, std::string_view how) {
  const auto& who = lost.options();
  const bool goes_on = std::any_of(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    const session::Session& other = *entry.second;
    return other.options().pid == who.pid && entry.first > who.number && other.launches() > 0;
  });
  if (lost.launches() == 0 || goes_on) return;
  if (!verdict_.has_lost_session()) rank_died_ns_ = clock_->MonotonicNs();
  verdict_.NoteSessionLost(ranks_->NameOf(who.number), who.pid, std::string(how));
}

// The command has ended: what its ranks had to say comes within moments, also on a busy machine.
bool Agent::IsLastWordOpen() const {
  if (clock_->MonotonicNs() - command_ended_ns_ > kLongestDyingNs) return false;
  const bool is_open = std::any_of(dying_.begin(), dying_.end(), [](const DyingRank& dying) {
    return dying.farewell != wire::Farewell::kEnded;
  });
  if (is_open) return true;
  return std::any_of(connections_.begin(), connections_.end(), [this](const auto& entry) {
    const auto death = launch::LookForDeath(sessions_.at(entry.second)->options().pid);
    return death.state != launch::LifeState::kAlive;
  });
}

// Of those that live on although the command has ended.
void Agent::SettleDeaths() {
  for (const DyingRank& dying : std::exchange(dying_, {})) {
    if (dying.farewell == wire::Farewell::kEnded) continue;
    const bool is_replaced = dying.farewell == wire::Farewell::kReplaced;
    NoteLost(*sessions_.at(dying.process), is_replaced ? kReplaced : kCutOff);
  }
}

void Agent::EndDamaged(const session::Session& session, const base::Error& damage) {
  const session::SessionOptions& who = session.options();
  End({.reason = outcome::Reason::kRingDamaged,
       .message =
           StrCat("rank ", ranks_->NameOf(who.number), " (pid ", who.pid, "): ", damage.message)});
}

bool Agent::DrainSessions() {
  bool moved = false;
  base::SimTime latest;
  std::uint64_t backlog = 0;
  for (const auto& [number, session] : sessions_) {
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
    // With the time to which the job was released last.
    SettleNaps({static_cast<std::int64_t>(page_->job_clock_ps())});
  }
  metrics_->ring_backlog_bytes.Set(static_cast<double>(backlog));
  return moved;
}

clock::Look Agent::LookAtProcesses() {
  if (command_ == nullptr) return clock::Look::kStill;
  // A rank's main thread may be talking to another server.
  std::set<pid_t> ranks;
  for (const auto& [number, session] : sessions_) {
    if (session->is_driving()) ranks.insert(session->options().pid);
  }
  // The agent's own threads bring what processes say: one that wants to run may hold such news.
  std::vector<pid_t> processes = process::DescendantsOf(getpid());
  processes.push_back(getpid());
  const auto seen = stillness_.Look(processes, ranks, clock_->MonotonicNs());
  if (stillness_.moved()) standstill_.Move();
  switch (seen) {
    case launch::Stillness::kStill:
      return clock::Look::kStill;
    case launch::Stillness::kPolling:
      return clock::Look::kPolling;
    case launch::Stillness::kStopped:  // It may go on at any time, and then do anything.
    case launch::Stillness::kWorking:
      break;
  }
  return clock::Look::kWorking;
}

// Whom a user would look at: who is stopped, then ranks, then whatever the command has started.
void Agent::DescribeStandstill(controller::v1::Progress* progress) const {
  const std::int64_t still_ms = standstill_.still_ns() / 1'000'000;
  if (still_ms < kTellStillMs) return;
  progress->set_still_milliseconds(static_cast<std::uint64_t>(still_ms));
  std::map<pid_t, std::uint32_t> sessions;
  for (const auto& [connection, process] : connections_) {
    sessions[sessions_.at(process)->options().pid] = process;
  }
  std::vector<std::pair<int, std::string>> seen;  // By how much it tells.
  for (const pid_t pid : process::DescendantsOf(getpid())) {
    const launch::Witness witness = launch::LookAtProcess(pid);
    if (!witness.is_there) continue;
    const auto session = sessions.find(pid);
    const bool is_rank = session != sessions.end() && IsReporting(*sessions_.at(session->second));
    if (witness.is_stopped) progress->set_is_stopped(true);
    const int weight = (witness.is_stopped ? 0 : 2) + (is_rank ? 0 : 1);
    seen.emplace_back(
        weight, is_rank ? StrCat("rank ", ranks_->NameOf(session->second), " ", witness.text, "; ",
                                 sessions_.at(session->second)->LastDoing())
                        : StrCat("a process ", witness.text));
  }
  std::stable_sort(seen.begin(), seen.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(seen.size(), kWitnesses); ++i) {
    text += (i == 0 ? "" : ". ") + seen[i].second;
  }
  progress->set_witness(outcome::PlainText(text));
}

void Agent::Line(launch::OutputStream stream, std::string text) {
  // What a job says because it was told to stop is no part of its story.
  if (was_told_to_end_.load()) return;
  mailbox_.Post([this, stream, text = std::move(text)] { OnLine(stream, text); });
}

void Agent::Exited(launch::ExitStatus status) {
  mailbox_.Post([this, status] {
    command_status_ = status;
    command_ended_ns_ = clock_->MonotonicNs();
  });
}

void Agent::OnLine(launch::OutputStream stream, const std::string& text) {
  metrics_->log_lines.Increment();
  if (options_.print_lines) {
    std::FILE* out = stream == launch::OutputStream::kStderr ? stderr : stdout;
    std::fprintf(out, "%s\n", text.c_str());
    std::fflush(out);
  }
  if (stream == launch::OutputStream::kStderr) verdict_.NoteErrorLine(text);
  controller::v1::AgentReport report;
  controller::v1::LogLine* line = report.mutable_log();
  line->set_stream(static_cast<std::uint32_t>(stream));
  line->set_text(outcome::PlainText(text));
  line->set_virtual_picoseconds(page_->job_clock_ps());
  controller_->Send(report);
  if (!ending_.has_value() || ending_->reason != outcome::Reason::kStopped) MatchLine(text);
}

// A line ends an iteration of every rank of the server.
void Agent::MatchLine(const std::string& text) {
  if (!job_->log_pattern.has_value() || !job_->log_pattern->EndsIteration(text)) return;
  for (const auto& [number, session] : sessions_) session->EndIterationByLog();
}

}  // namespace eidolon::agent::server
