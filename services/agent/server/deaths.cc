// After a hang-up much is open: the process may have ended, may have been replaced by another
// program, or may go on without its session. What it wrote to its segment before decides
// (Farewell), together with the status that /proc shows until the launcher collects it. Both come
// late on a busy machine, so a process stays in doubt for a few seconds, and only then is it judged
// by what is known. Processes that never did anything are of no interest: launchers and compilers
// come and go.
#include "services/agent/server/deaths.h"

#include <algorithm>
#include <string>
#include <utility>

#include "services/agent/launch/death.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;

namespace {

constexpr std::int64_t kLongestDyingNs = 5'000'000'000;

constexpr std::string_view kCutOff =
    "closed its connection to the agent and went on without it, as a program does that closes "
    "descriptors which it has not opened (by a system call of its own); what it did from then on "
    "is missing";
constexpr std::string_view kReplaced =
    "replaced itself by another program (exec) that has no emulated GPU of its own; what it would "
    "have done is missing";

}  // namespace

void Deaths::Observe(std::uint32_t process) {
  observed_.try_emplace(process, processes_->at(process).options().pid);
}

launch::Death Deaths::Look(std::uint32_t process) const {
  const auto found = observed_.find(process);
  return found != observed_.end() ? found->second.Look()
                                  : launch::LookForDeath(processes_->at(process).options().pid);
}

void Deaths::Add(std::uint32_t process) {
  const session::Session& session = processes_->at(process);
  if (processes_->ranks().IsCertain(process) || session.launches() > 0 || session.awaits_costs()) {
    dying_.push_back({.process = process,
                      .since_ns = clock_->MonotonicNs(),
                      .farewell = processes_->at(process).segment().farewell()});
  } else {
    observed_.erase(process);
  }
}

void Deaths::Watch() {
  if (dying_.empty()) return;
  std::erase_if(dying_, [this](const Dying& dying) {
    const bool has_ended = HasEnded(dying);
    if (has_ended) observed_.erase(dying.process);
    return has_ended;
  });
}

// Returns whether all is known of it. Who ends says so before its socket closes; a word that comes
// later is of one that went on without it.
bool Deaths::HasEnded(const Dying& dying) {
  const std::int64_t now = clock_->MonotonicNs();
  session::Session& session = processes_->at(dying.process);
  const std::int32_t pid = session.options().pid;
  const std::int32_t rank = processes_->ranks().NameOf(dying.process);
  const bool was_silent = dying.farewell == wire::Farewell::kNone;
  const bool went_on = was_silent && session.segment().farewell() != wire::Farewell::kNone;
  const launch::Death death = Look(dying.process);
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
    verdict_->NoteSilentEnd(rank, pid);
  }
  if (is_alive || !processes_->ranks().IsCertain(dying.process)) return true;
  if (is_dead && !ended_well) {
    if (!verdict_->has_rank_death()) first_ns_ = now;
    verdict_->NoteRankDeath({.rank = rank, .pid = pid, .status = death.status});
  }
  if (!is_dead) verdict_->NoteRankGone({.rank = rank, .pid = pid, .status = {}});
  return true;
}

// What a rank did without its session is missing; unless it had done nothing yet, or goes on in
// another one.
void Deaths::NoteLost(const session::Session& lost, std::string_view how) {
  const auto& who = lost.options();
  const bool goes_on =
      std::any_of(processes_->all().begin(), processes_->all().end(), [&](const auto& entry) {
        const session::Session& other = *entry.second;
        return other.options().pid == who.pid && entry.first > who.number && other.launches() > 0;
      });
  if (lost.launches() == 0 || goes_on) return;
  if (!verdict_->has_lost_session()) first_ns_ = clock_->MonotonicNs();
  verdict_->NoteSessionLost(processes_->ranks().NameOf(who.number), who.pid, std::string(how));
}

bool Deaths::IsLastWordOpen(std::int64_t command_ended_ns) const {
  if (clock_->MonotonicNs() - command_ended_ns > kLongestDyingNs) return false;
  const bool is_open = std::any_of(dying_.begin(), dying_.end(), [](const Dying& dying) {
    return dying.farewell != wire::Farewell::kEnded;
  });
  if (is_open) return true;
  return std::any_of(
      processes_->connections().begin(), processes_->connections().end(),
      [this](const auto& entry) { return Look(entry.second).state != launch::LifeState::kAlive; });
}

void Deaths::Settle() {
  for (const Dying& dying : std::exchange(dying_, {})) {
    if (dying.farewell == wire::Farewell::kEnded) continue;
    const bool is_replaced = dying.farewell == wire::Farewell::kReplaced;
    NoteLost(processes_->at(dying.process), is_replaced ? kReplaced : kCutOff);
  }
}

}  // namespace eidolon::agent::server
