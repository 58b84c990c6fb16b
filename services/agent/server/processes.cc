// A process shows only gradually what it is, so it is admitted by its hello alone and becomes a
// rank later (RankRegistry). Nothing that depends on real time may enter the simulation: clocks
// start at zero or at the parent's clock, and seeds come from ranks, or from server and process
// number where there is no rank. Sessions stay when their process is gone, because reports need
// them.
#include "services/agent/server/processes.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "services/agent/job/gpu_variation.h"
#include "services/agent/ring/listener.h"
#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/runtime/process/process_tree.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {
// More than any rank: identities of processes that are none begin here.
constexpr std::uint64_t kRanksMax = std::uint64_t{1} << 62;
}  // namespace

Processes::Processes(const JobParts* job, session::SessionHost* host)
    : job_(job),
      host_(host),
      ranks_({.first = static_cast<std::int32_t>(job->assignment.server()) *
                       static_cast<std::int32_t>(job->assignment.ranks_per_server()),
              .count = static_cast<std::int32_t>(job->assignment.ranks_per_server()),
              .servers = static_cast<std::int32_t>(job->assignment.servers())}) {}

base::Result<void> Processes::Admit(int connection, const wire::Hello& hello, int doorbell) {
  const auto& assignment = job_->assignment;
  const auto devices = static_cast<std::int32_t>(job_->content.devices.size());
  if (hello.local_rank >= devices) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("LOCAL_RANK ", hello.local_rank, ": this server has ", devices, " GPUs"));
  }
  const std::uint32_t process = next_process_++;
  auto segment = ring::Segment::Create(job_->content, process, StartClockOf(hello));
  if (!segment) return std::unexpected(segment.error());
  segment->SetJitter(JitterOf(hello, process));
  const ring::SharedFiles files{.segment = segment->descriptor(), .doorbell = doorbell};
  if (auto sent = ring::SendWelcome(connection, files); !sent) {
    return std::unexpected(sent.error());
  }
  const bool is_primary =
      ranks_.Introduce(process, {.rank = hello.rank, .local_rank = hello.local_rank});
  session::SessionOptions options{
      .number = process,
      .pid = hello.pid,
      .is_primary = is_primary,
      .server = assignment.server(),
      .devices = DevicesOf(hello),
      .rule = {.nvtx = assignment.iterations().nvtx(),
               .by_log = job_->log_pattern.has_value(),
               .wanted = assignment.iterations().warmup() + assignment.iterations().measure()},
      .event_log = {}};
  if (assignment.write_event_log()) {
    options.event_log = StrCat(assignment.run_directory(), "/events.", process, ".log");
  }
  if (assignment.keep_recording()) {
    options.recording = StrCat(assignment.run_directory(), "/recording.", process);
    // What cannot be sent need not be kept: the run directory is in a pod's memory.
    const std::uint64_t sent_max = assignment.sent_output_bytes_max();
    if (sent_max > 0) {
      options.recording_bytes_max = std::min(options.recording_bytes_max, sent_max);
    }
  }
  if (assignment.has_timeline() && MayBeShown(hello)) options.timeline = TimelineRule();
  sessions_[process] =
      std::make_unique<session::Session>(std::move(options), std::move(*segment), host_);
  connections_[connection] = process;
  return {};
}

// A process without a rank in its environment has average GPUs, and so has every process of a GPU
// whose durations are fixed.
std::vector<device::Traits> Processes::DevicesOf(const wire::Hello& hello) const {
  std::vector<device::Traits> devices = job_->traits;
  if (!job_->varies || hello.rank < 0 || hello.rank >= hello.world_size) return devices;
  const auto& assignment = job_->assignment;
  const job::RankPlace place{.rank = static_cast<std::uint32_t>(hello.rank),
                             .ranks = static_cast<std::uint32_t>(hello.world_size),
                             .ranks_per_server = std::max(1u, assignment.ranks_per_server())};
  const std::int32_t slowness = job_->fold.is_folded()
                                    ? job::SlowestOf(place)
                                    : job::SlownessOf(place, assignment.variation().seed());
  for (device::Traits& device : devices) device.slowness = slowness;
  return devices;
}

// A process whose rank is not known yet may become one that is.
bool Processes::MayBeShown(const wire::Hello& hello) const {
  return hello.rank < 0 || IsShown(hello.rank);
}

bool Processes::IsShown(std::int32_t rank) const {
  const auto& ranks = job_->assignment.timeline().ranks();
  return ranks.empty() || std::ranges::count(ranks, static_cast<std::uint32_t>(rank)) > 0;
}

timeline::Rule Processes::TimelineRule() const {
  const auto& wanted = job_->assignment.timeline();
  std::uint32_t ranks = job_->live_ranks();
  if (!wanted.ranks().empty()) {
    ranks = std::min(ranks, static_cast<std::uint32_t>(wanted.ranks_size()));
  }
  return {
      .first = job_->assignment.iterations().warmup(),
      .iterations = wanted.iterations(),
      .operations_max = std::max<std::uint64_t>(1, wanted.operations_max() / std::max(1U, ranks))};
}

std::optional<std::uint32_t> Processes::Disconnect(int connection) {
  const auto found = connections_.extract(connection);
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

void Processes::GiveUpDisplaced() {
  for (const std::uint32_t process : ranks_.TakeDisplaced()) at(process).GiveUpRank();
}

void Processes::SettleRanks() {
  for (const auto& [number, session] : sessions_) {
    if (session->memory().has_allocations()) ranks_.NoteAllocation(number);
  }
  ranks_.Settle();
}

// Virtual time runs for ranks that have begun, for what they started, and for processes that go by
// what they have read of ranks, which name the moment. What launchers wait, and ranks that start
// up, is not simulated time.
bool Processes::MayVirtualSleep(const wire::VirtualSleep& virtual_sleep) const {
  std::set<pid_t> ranks;
  for (const auto& [number, session] : sessions_) {
    if (session->is_driving() && session->has_begun()) ranks.insert(session->options().pid);
  }
  const bool names_moment = virtual_sleep.moment_ps != 0;
  return !ranks.empty() && (names_moment || process::IsWithin(virtual_sleep.pid, ranks));
}

// Returns where the clock of a new process begins where host work has fixed costs: with the job for
// ranks and processes that may become one, with its parent for the child of a working one. It is
// not the job's clock at the time when the process comes, which depends on real time.
std::uint64_t Processes::StartClockOf(const wire::Hello& hello) const {
  if (hello.rank >= 0 || !wire::HasCosts(job_->content.host_model)) return 0;
  for (const pid_t ancestor : process::AncestorsOf(hello.pid)) {
    for (const auto& [number, session] : sessions_) {
      if (session->options().pid != ancestor || !session->is_driving()) continue;
      return static_cast<std::uint64_t>(session->known_clock().ps);
    }
  }
  return 0;
}

// Every rank draws delays of its own, the same ones in each run of the job.
wire::HostJitter Processes::JitterOf(const wire::Hello& hello, std::uint32_t process) const {
  wire::HostJitter jitter = job_->content.jitter;
  const std::uint64_t identity =
      hello.rank >= 0 ? static_cast<std::uint64_t>(hello.rank)
                      : (std::uint64_t{job_->assignment.server()} << 32 | process) + kRanksMax;
  const std::uint64_t both[] = {jitter.seed, identity};
  jitter.seed = base::Hash64(both, sizeof(both));
  return jitter;
}

// Ranks that have not introduced themselves may still do anything. A program whose ranks have no
// RANK is complete when it begins to work; a launcher never does. Who meets in the communicator of
// the whole job has all come.
int Processes::CountMissing(bool world_met) const {
  const auto expected = static_cast<int>(job_->live_ranks());
  int ranks = 0;
  bool lone = false;
  for (const auto& [number, session] : sessions_) {
    ranks += session->options().is_primary ? 1 : 0;
    lone = lone || (!session->options().is_primary && session->is_driving());
  }
  const bool is_complete = world_met || (ranks == 0 && lone);
  return is_complete ? 0 : std::max(0, expected - ranks);
}

bool Processes::IsReporting(const session::Session& session) const {
  if (ranks_.has_ranks()) return ranks_.RankOf(session.options().number).has_value();
  return session.launches() > 0;
}

bool Processes::HasNews() const {
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [](const auto& entry) { return entry.second->HasNews(); });
}

}  // namespace eidolon::agent::server
