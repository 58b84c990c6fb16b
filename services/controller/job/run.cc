// All time comes in as an argument, so tests run hours in no time. A failure on one server makes
// others fail or wait, and the reports arrive in any order: of all failures the one with the
// smallest weight in kReasons is kept, as it is closest to the cause. Once enough was measured or
// the job was interrupted, failures no longer count, because a command that is being ended may end
// in any way. A step counts one second at most: a suspended machine or a busy controller must not
// look like agents that say nothing. Orders only get sterner (stop, terminate, kill).
#include "services/controller/job/run.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/host_time.h"
#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kConnectLimit = 60 * kSecond;
// An agent's stream and its process end together, and either may be seen first: the exit tells more
// than a broken stream does, and what it said last may still be on its way after the exit.
constexpr std::int64_t kDisconnectGrace = 2 * kSecond;

// A longer pause of the controller itself says nothing about agents.
constexpr std::int64_t kLongestStep = kSecond;
// Agents report twice a second.
constexpr std::int64_t kSuspect = kSecond;
constexpr std::size_t kServersShown = 4;

constexpr int kOutsideWeight = -1;
constexpr int kMemoryWeight = 0;
constexpr int kUnlikeWeight = 1;  // As if an agent said so.
constexpr int kAgentLostWeight = 5;
constexpr int kPeerLostWeight = 9;

struct ReasonRow {
  OutcomeReason outcome;
  int weight;
  std::string_view reason;
};

// When servers disagree, the smallest weight is closest to the cause: a rank that ran out of memory
// lets others fail or wait, never the other way round.
constexpr ReasonRow kReasons[] = {
    {OutcomeReason::kOutOfMemory, kMemoryWeight, reason::kOutOfMemory},
    {OutcomeReason::kOutOfHostMemory, kMemoryWeight, reason::kOutOfMemory},
    {OutcomeReason::kRanksDiffer, 1, reason::kRanksDiffer},
    {OutcomeReason::kCollectiveMismatch, 1, reason::kCollectiveMismatch},
    {OutcomeReason::kUnsupportedCall, 2, reason::kUnsupportedCall},
    {OutcomeReason::kRingDamaged, 3, reason::kRingDamaged},
    {OutcomeReason::kRankLost, 4, reason::kRankLost},
    {OutcomeReason::kSessionLost, 4, reason::kSessionLost},
    {OutcomeReason::kServiceLost, 6, reason::kServiceLost},
    {OutcomeReason::kCommandFailed, 7, reason::kCommandFailed},
    {OutcomeReason::kDeadlock, 8, reason::kDeadlock},
    {OutcomeReason::kPeerLost, kPeerLostWeight, reason::kRankLost},
};

}  // namespace

namespace {

// For how many ranks each live one stands: its class shared by the live ranks of it.
std::map<std::int32_t, double> WeightsOf(const folding::Fold& fold) {
  std::map<std::int32_t, double> weights;
  if (!fold.is_folded()) return weights;
  std::map<std::uint32_t, double> ranks;
  std::map<std::uint32_t, double> live;
  for (std::uint32_t rank = 0; rank < fold.ranks(); ++rank) ++ranks[fold.ClassOf(rank)];
  for (const std::uint32_t rank : fold.live()) ++live[fold.ClassOf(rank)];
  for (const std::uint32_t rank : fold.live()) {
    const std::uint32_t its_class = fold.ClassOf(rank);
    weights[static_cast<std::int32_t>(rank)] = ranks[its_class] / live[its_class];
  }
  return weights;
}

std::optional<FoldingSummary> FoldingOf(const folding::Fold& fold) {
  if (!fold.is_folded()) return std::nullopt;
  return FoldingSummary{.ranks = fold.ranks(),
                        .mirrored = static_cast<std::uint32_t>(fold.mirrored_ranks()),
                        .classes = fold.classes(),
                        .live = fold.live()};
}

}  // namespace

RunOptions RunOptionsOf(const ResolvedJob& resolved, double peak_flops_per_gpu) {
  const JobSpec& spec = resolved.spec;
  const IterationRule& rule = spec.iterations;
  return {.servers = resolved.servers,
          .agents = resolved.AgentServers(),
          .measurement = {.ranks = resolved.live_ranks(),
                          .gpus = resolved.ranks(),
                          .warmup = rule.warmup,
                          .measure = rule.measure,
                          .tokens = rule.tokens,
                          .samples = rule.samples,
                          .parameters = rule.parameters,
                          .peak_flops_per_gpu = peak_flops_per_gpu,
                          .host_time = HostTimeOf(spec, resolved.cluster),
                          .target = Target{.servers = resolved.servers,
                                           .ranks = resolved.ranks(),
                                           .cluster = resolved.cluster},
                          .folding = FoldingOf(resolved.fold),
                          .weights = WeightsOf(resolved.fold),
                          .declarations = TitlesOf(spec.values)},
          .fold = resolved.fold,
          .wall_seconds_max = spec.wall_seconds_max,
          .still_seconds_max = spec.still_seconds_max,
          .names_boundary = !rule.nvtx.empty() || !rule.log.empty()};
}

Run::Run(RunOptions options, std::int64_t now_ns)
    : options_(options),
      measurement_(options.measurement),
      class_times_(options.fold),
      start_ns_(now_ns),
      last_step_ns_(now_ns) {
  for (const std::uint32_t server : options_.agents) agents_[server] = {};
  for (std::uint32_t server = 0; options_.agents.empty() && server < options_.servers; ++server) {
    agents_[server] = {};
  }
}

std::string Run::Prefix(std::uint32_t server) const {
  return options_.servers > 1 ? StrCat("server ", server, ": ") : "";
}

void Run::Connected(std::uint32_t server) { agents_[server].connected = true; }

void Run::Disconnected(std::uint32_t server, std::int64_t now_ns) {
  Agent& agent = agents_[server];
  agent.connected = false;
  if (!agent.outcome) agent.disconnected_ns = now_ns;
  if (agent.exit && !agent.gone) Leave(server, agent.exit->how, now_ns);
}

void Run::NoteMemoryKill(std::uint32_t server, const std::string& message) {
  agents_[server].memory_kill = message;
}

void Run::Exited(std::uint32_t server, const std::string& how, std::int64_t now_ns) {
  Agent& agent = agents_[server];
  if (agent.gone || !agent.connected || agent.outcome) return Leave(server, how, now_ns);
  if (!agent.exit) agent.exit = Exit{how, now_ns};
}

void Run::Leave(std::uint32_t server, const std::string& how, std::int64_t now_ns) {
  Agent& agent = agents_[server];
  agent.gone = true;
  // Another server may have missed its ranks before its end was seen here. One that ended by itself
  // has told why, or is about to.
  const bool was_missed =
      failure_ && failure_->weight == kPeerLostWeight && !how.starts_with("ended with");
  if (!agent.outcome && !agent.memory_kill.empty()) {
    AddFailure({kMemoryWeight, std::string(reason::kOutOfMemory),
                Prefix(server) + agent.memory_kill, /*is_of_host=*/true},
               now_ns);
  } else if (!agent.outcome && (!IsEnding() || was_missed)) {
    AddFailure({kAgentLostWeight, std::string(reason::kAgentLost),
                StrCat("the agent of server ", server, " ", how)},
               now_ns);
  }
  if (IsOver() && end_ns_ == 0) end_ns_ = now_ns;
}

void Run::Add(const RankIteration& iteration, std::int64_t now_ns) {
  measurement_.Add(iteration);
  if (const auto differ = class_times_.Add(iteration); differ && !IsEnding()) {
    AddFailure({kUnlikeWeight, std::string(reason::kRanksDiffer), *differ}, now_ns);
  }
  if (first_iteration_ns_ == 0 && measurement_.finished() > 0) first_iteration_ns_ = now_ns;
  if (!IsEnding() && measurement_.IsEnough()) {
    enough_ = true;
    End("enough iterations were measured", now_ns);
  }
}

void Run::SetProgress(std::uint32_t server, AgentProgress progress) {
  Agent& agent = agents_[server];
  progress.virtual_ps = std::max(agent.progress.virtual_ps, progress.virtual_ps);
  progress.launches = std::max(agent.progress.launches, progress.launches);
  agent.progress = std::move(progress);
  agent.silent_ns = 0;
}

void Run::SetGuardian(std::uint32_t server, std::string stopped) {
  agents_[server].guardian = std::move(stopped);
}

std::string Run::GuardianOf(const Agent& agent, std::string_view before) {
  return agent.guardian.empty() ? "" : StrCat(before, "its guardian ", agent.guardian);
}

std::vector<std::uint32_t> Run::Suspects() const {
  std::vector<std::uint32_t> suspects;
  for (const auto& [server, agent] : agents_) {
    const bool moves = agent.connected && !agent.outcome && !IsEnding() &&
                       agent.progress.still_ns + agent.silent_ns < kSuspect;
    if (!agent.gone && !moves) suspects.push_back(server);
  }
  return suspects;
}

void Run::SetUsage(std::uint32_t server, ServerUsage usage) {
  measurement_.SetUsage(server, std::move(usage));
}

void Run::NoteLogLine(std::uint32_t server, const std::string& line) {
  agents_[server].silent_ns = 0;
  // The last line of a Python traceback, "ValueError: ...", perhaps behind torchrun's "[rank0]: ".
  // The first one is kept: later ones are consequences.
  if (!error_line_.empty() || line.size() > 400 || !IsUtf8(line)) return;
  std::string_view text = line;
  if (text.starts_with("[rank") && text.find("]: ") != text.npos) {
    text.remove_prefix(text.find("]: ") + 3);
  }
  const std::string_view word = text.substr(0, text.find(": "));
  if (word.size() == text.size() || word.find(' ') != word.npos) return;
  if (word.ends_with("Error") || word.ends_with("Exception")) error_line_ = line;
}

// An agent that we stop tells our own reason; later orders have none.
bool Run::WasEndedByOthers(const AgentOutcome& outcome) const {
  const bool may_be_cause = !failure_ || failure_->weight == kPeerLostWeight;
  return may_be_cause && given_ < Order::kTerminate && outcome.message != stop_reason_;
}

void Run::SetOutcome(std::uint32_t server, AgentOutcome outcome, std::int64_t now_ns) {
  agents_[server].outcome = outcome;
  if (ranks_differ_by_.empty()) ranks_differ_by_ = outcome.ranks_differ_by;
  if (agents_[server].exit) Leave(server, agents_[server].exit->how, now_ns);
  if (outcome.reason == OutcomeReason::kStopped && WasEndedByOthers(outcome)) {
    AddFailure({kAgentLostWeight, std::string(reason::kAgentLost),
                StrCat("the agent of server ", server,
                       " was asked to end by somebody else: its pod was deleted, or its machine "
                       "goes down")},
               now_ns);
    return;
  }
  const auto row = std::find_if(std::begin(kReasons), std::end(kReasons),
                                [&](const ReasonRow& r) { return r.outcome == outcome.reason; });
  if (row == std::end(kReasons)) return;
  const bool is_of_host = outcome.reason == OutcomeReason::kOutOfHostMemory;
  AddFailure({row->weight, std::string(row->reason), Prefix(server) + outcome.message, is_of_host},
             now_ns);
}

void Run::Fail(std::string_view reason, const std::string& message, std::int64_t now_ns) {
  AddFailure({kOutsideWeight, std::string(reason), message}, now_ns);
}

void Run::Interrupt(std::string_view reason, const std::string& message, std::int64_t now_ns) {
  if (!interruption_) interruption_ = {Phase::kInterrupted, std::string(reason), message};
  End(message, now_ns);
}

void Run::AddFailure(Failure failure, std::int64_t now_ns) {
  // A command that is being ended may end in any way; a failure may still have a deeper cause.
  if (enough_ || interruption_) return;
  const std::string why = failure.message;
  if (!failure_ || failure.weight < failure_->weight) failure_ = std::move(failure);
  End(why, now_ns);
}

void Run::End(const std::string& why, std::int64_t now_ns) {
  if (ending_ns_) return;
  ending_ns_ = now_ns;
  stop_reason_ = why;
}

void Run::CheckTimes(std::int64_t now_ns) {
  for (const auto& [server, agent] : agents_) {
    if (agent.gone || agent.outcome) continue;
    if (agent.disconnected_ns && now_ns - *agent.disconnected_ns > kDisconnectGrace) {
      AddFailure({kAgentLostWeight, std::string(reason::kAgentLost),
                  StrCat("the agent of server ", server, " closed its connection",
                         GuardianOf(agent, "; "))},
                 now_ns);
    } else if (!agent.connected && !agent.disconnected_ns && now_ns - start_ns_ > kConnectLimit) {
      AddFailure({kAgentLostWeight, std::string(reason::kAgentLost),
                  StrCat("the agent of server ", server, " did not connect within ",
                         kConnectLimit / kSecond, " s", GuardianOf(agent, "; "))},
                 now_ns);
    }
  }
  const auto limit = static_cast<std::int64_t>(options_.wall_seconds_max) * kSecond;
  if (limit > 0 && now_ns - start_ns_ + options_.admitted_before_ns > limit) {
    Fail(reason::kDeadlineExceeded,
         StrCat("the job ran for longer than limits.wallSeconds = ", options_.wall_seconds_max),
         now_ns);
  }
}

// One server that moves is enough: the others may be waiting for it. An agent that says nothing
// (its process is stopped) moves nothing either.
void Run::CheckStandstill(std::int64_t step_ns, std::int64_t now_ns) {
  const auto limit = static_cast<std::int64_t>(options_.still_seconds_max) * kSecond;
  std::vector<std::string> stopped, others;
  bool still = limit > 0 && IsRunning();
  for (auto& [server, agent] : agents_) {
    if (agent.outcome) continue;
    agent.silent_ns += step_ns;
    still = still && agent.progress.still_ns + agent.silent_ns >= limit;
    const bool is_silent = agent.silent_ns >= limit;
    const std::string seen =
        is_silent ? StrCat("its agent has said nothing for ", agent.silent_ns / kSecond, " s")
                  : agent.progress.witness;
    if (!agent.guardian.empty()) stopped.push_back(Prefix(server) + GuardianOf(agent, ""));
    if (seen.empty()) continue;
    (agent.progress.is_stopped || is_silent ? stopped : others).push_back(Prefix(server) + seen);
  }
  if (!still || (stopped.empty() && others.empty())) return;
  std::string message =
      StrCat("nothing in the job has moved for ", options_.still_seconds_max,
             " s (limits.stillSeconds): no call of a rank, no processor, no disk");
  stopped.insert(stopped.end(), others.begin(), others.end());
  stopped.resize(std::min(stopped.size(), kServersShown));
  for (const std::string& seen : stopped) message += ". " + seen;
  Fail(reason::kStuck, message, now_ns);
}

void Run::CheckExits(std::int64_t step_ns, std::int64_t now_ns) {
  const auto limit = static_cast<std::int64_t>(options_.exit_seconds_max) * kSecond;
  const bool was_killed = given_ == Order::kKill && limit > 0 &&
                          now_ns - *ending_ns_ > kEndGraceSeconds * kSecond + limit;
  for (auto& [server, agent] : agents_) {
    if (agent.gone) continue;
    if (agent.exit && now_ns - agent.exit->at_ns > kDisconnectGrace) {
      Leave(server, agent.exit->how, now_ns);
    } else if (was_killed) {
      Leave(server, "hangs in the kernel and cannot be killed", now_ns);
    } else if (agent.outcome && !IsEnding() && limit > 0) {
      agent.exiting_ns += step_ns;
      if (agent.exiting_ns <= limit) continue;
      Fail(reason::kStuck,
           StrCat(Prefix(server), "the agent has ended, but its process is left after ",
                  options_.exit_seconds_max, " s", GuardianOf(agent, ": ")),
           now_ns);
    }
  }
}

Order Run::Step(std::int64_t now_ns) {
  const std::int64_t step_ns = std::clamp<std::int64_t>(now_ns - last_step_ns_, 0, kLongestStep);
  last_step_ns_ = now_ns;
  CheckExits(step_ns, now_ns);
  if (!IsEnding()) CheckTimes(now_ns);
  if (!IsEnding()) CheckStandstill(step_ns, now_ns);
  if (!IsEnding() || IsOver()) return Order::kNone;
  const std::int64_t ending = now_ns - *ending_ns_;
  Order due = Order::kStop;
  if (ending > kStopGraceSeconds * kSecond) due = Order::kTerminate;
  if (ending > kEndGraceSeconds * kSecond) due = Order::kKill;
  if (due <= given_) return Order::kNone;
  given_ = due;
  return due;
}

bool Run::IsRunning() const {
  return !IsEnding() && std::ranges::all_of(agents_, [](const auto& entry) {
    return entry.second.connected || entry.second.outcome;
  });
}

bool Run::IsOver() const {
  return std::ranges::all_of(agents_, [](const auto& entry) { return entry.second.gone; });
}

Verdict Run::Judge() {
  CHECK(IsOver());
  Verdict verdict = interruption_ ? *interruption_ : failure_ ? JudgeFailure() : JudgeMeasurement();
  for (const auto& [server, agent] : agents_) {
    if (given_ != Order::kKill || agent.guardian.empty()) continue;
    if (verdict.message.find(agent.guardian) != std::string::npos) continue;
    verdict.message += StrCat("; ", Prefix(server), GuardianOf(agent, ""), ", and was killed");
  }
  return verdict;
}

Verdict Run::JudgeFailure() const {
  Verdict verdict = {Phase::kFailed, failure_->reason, failure_->message};
  if (failure_->reason == reason::kOutOfMemory && !failure_->is_of_host) {
    const std::string use = DescribeOutOfMemory(measurement_.Predict());
    if (!use.empty()) verdict.message += ". " + use;
  } else if (failure_->reason == reason::kRanksDiffer) {
    const Prediction prediction = measurement_.Predict();
    const auto& folding = prediction.folding;
    if (folding && !folding->work_differences.empty()) {
      verdict.message += ". Most often " + folding->work_differences.front().name;
    }
  } else if (failure_->reason == reason::kCommandFailed && !error_line_.empty() &&
             verdict.message.find(error_line_) == std::string::npos) {
    verdict.message += "; it printed: " + error_line_;
  }
  return verdict;
}

Verdict Run::JudgeMeasurement() {
  if (!enough_) measurement_.Close();
  const Prediction prediction = measurement_.Predict();
  const std::uint32_t measured = prediction.measured_iterations;
  const std::uint32_t wanted = options_.measurement.measure;
  if (enough_) {
    return {Phase::kComplete, std::string(reason::kIterationsMeasured),
            StrCat(measured, " iterations were measured")};
  }
  if (measured > 0) {
    return {Phase::kComplete, std::string(reason::kCommandEnded),
            StrCat("the command ended after ", measured, " of ", wanted,
                   " iterations to be measured", Missing())};
  }
  // A program that repeats nothing has a time all the same.
  const bool is_known = prediction.program.has_value() && !options_.names_boundary;
  return {is_known ? Phase::kComplete : Phase::kFailed, std::string(reason::kNoIterations),
          WithoutIterations() +
              (is_known ? ". Predicted is the whole program instead, from its first work on" : "") +
              Missing()};
}

// Returns what agents add to the end of a command that ended well.
std::string Run::Missing() const {
  std::string text;
  for (const auto& [server, agent] : agents_) {
    if (!agent.outcome || agent.outcome->reason != OutcomeReason::kCompleted) continue;
    const std::string& message = agent.outcome->message;
    if (const std::size_t at = message.find("; "); at != message.npos) text += message.substr(at);
  }
  return text;
}

// The first calls that were not answered, which may be why a program did without its GPU.
std::string Run::Refused() const {
  const std::vector<NamedAmount> calls = measurement_.Predict().unsupported_calls;
  return calls.empty() ? ""
                       : StrCat(". It had called '", calls[0].name, "', which is not supported");
}

// Returns why there is none to measure, and what to do.
std::string Run::WithoutIterations() const {
  const std::uint32_t seen = measurement_.seen();
  if (seen > 0) {
    return StrCat("the command ended after ", seen,
                  " iteration(s), all of them warm-up (iterations.warmup = ",
                  options_.measurement.warmup, "); let it run longer or lower the warm-up");
  }
  if (options_.names_boundary) {
    return "the command ended without an iteration: what iterations.boundary names was not seen in "
           "any rank";
  }
  if (!measurement_.Predict().program && progress(start_ns_).launches == 0) {
    return "no GPU work was seen: the command launched no kernel, copy or collective. Is it a "
           "program for a CPU, or does it choose its device by something that is not there? "
           "torch.cuda.is_available() is true here for wheels of CUDA 12 and 13" +
           Refused();
  }
  return "the command ended without an iteration: no repeating sequence of launches was found; let "
         "it run more steps, or name the iteration by iterations.boundary, {nvtx: ...} or {log: "
         "...}";
}

Progress Run::progress(std::int64_t now_ns) const {
  Progress progress =
      ComputeProgress(measurement_.finished(), measurement_.wanted(), first_iteration_ns_, now_ns);
  std::uint64_t virtual_ps = 0;
  bool moves = !IsRunning();
  for (const auto& [server, agent] : agents_) {
    virtual_ps = std::max(virtual_ps, agent.progress.virtual_ps);
    progress.launches += agent.progress.launches;
    if (agent.outcome) continue;
    moves = moves || agent.progress.still_ns < kTellStillSeconds * kSecond;
    const std::string& seen = agent.progress.witness;
    if (progress.waiting.empty() && !seen.empty()) progress.waiting = Prefix(server) + seen;
  }
  progress.virtual_seconds = static_cast<double>(virtual_ps) * 1e-12;
  if (moves) progress.waiting.clear();
  return progress;
}

SimulationCost Run::cost(std::int64_t now_ns) const {
  SimulationCost cost;
  const std::int64_t end_ns = end_ns_ != 0 ? end_ns_ : now_ns;
  cost.wall_seconds = static_cast<double>(end_ns - start_ns_) * 1e-9;
  const double virtual_seconds = progress(now_ns).virtual_seconds;
  if (virtual_seconds > 0) cost.slowdown = cost.wall_seconds / virtual_seconds;
  return cost;
}

}  // namespace eidolon::controller::job
