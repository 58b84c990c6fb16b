// The main loop owns everything and waits for nothing but the doorbell: whatever blocks (streams,
// pipes, questions to services) has a thread of its own that posts a task. The order within Step
// matters. Records are applied before the horizon is sent, because a promise must hold for all that
// was read, and everything that the round said leaves in one batch. Setting up is the exception: it
// blocks, and an order to stop ends it. The first cause ends the job; everything after it is
// clean-up and changes no verdict.
#include "services/agent/server/agent.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "eidolon/network/v1/network.pb.h"
#include "eidolon/timing/v1/timing.pb.h"
#include "services/agent/job/declared_values.h"
#include "services/agent/job/device_properties.h"
#include "services/agent/rendezvous/store_server.h"
#include "services/agent/ring/listener.h"
#include "services/agent/server/job_command.h"
#include "services/agent/server/link_loads.h"
#include "services/agent/server/output_sender.h"
#include "services/agent/server/recording_output.h"
#include "services/agent/server/timeline_file.h"
#include "services/base/check.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/folding/wire/fold_message.h"
#include "services/contract/ring/replay.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::StrCat;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSleepNs = kMillisecond;  // Plain launches do not ring.
constexpr std::int64_t kReportEveryNs = 500 * kMillisecond;
constexpr std::int64_t kUsageEveryNs = 10'000 * kMillisecond;
constexpr std::int64_t kFlushNs = 300 * kMillisecond;  // For lines and hang-ups after the command.
// A launcher that sees a rank's death ends the others and itself, and its exit status is the more
// precise verdict. It has the longer time while any process of the job works, as a launcher on a
// busy machine does.
constexpr std::int64_t kRankGraceNs = 1'500 * kMillisecond;
constexpr std::int64_t kRankGraceMaxNs = 8'000 * kMillisecond;
constexpr int kStopGraceMs = 2'000;
// More lines at once than this are output that waited to be forwarded, not a program's heartbeat.
constexpr std::size_t kBacklog = 256;
// What a job had written when it was stopped is read for at most so long.
constexpr int kLastLinesMs = 300;

// Returns the scale of kernels and copies, in thousandths of their estimates.
std::uint32_t KernelPermille(const controller::v1::Assignment& assignment) {
  constexpr std::uint32_t kPermille = 1000;
  return assignment.replay().has_kernel_permille() ? assignment.replay().kernel_permille()
                                                   : kPermille;
}

// What a service answers while a job is set up is the cluster's failure, unless the job names
// something that does not exist.
std::unexpected<base::Error> FailureOfService(base::Error error) {
  const bool is_of_job =
      error.code == ErrorCode::kNotFound || error.code == ErrorCode::kInvalidArgument;
  if (!is_of_job) error.code = ErrorCode::kUnavailable;
  return std::unexpected(std::move(error));
}

}  // namespace

Agent::Agent(Options options, Metrics* metrics, const base::RealClock* clock)
    : options_(std::move(options)),
      metrics_(metrics),
      clock_(clock),
      mailbox_([this] {
        if (page_ready_.load()) page_->Ring();
      }),
      controller_(std::make_unique<client::ControllerClient>(
          client::ControllerClient::Options{.address = options_.controller_address,
                                            .token = options_.token,
                                            .patience = options_.patience})),
      quiescence_([this] { return LookAtProcesses(); }, [this] { return HasNews(); }),
      watch_(clock),
      time_(metrics) {}

Agent::~Agent() { CleanUp(); }

int Agent::Run() {
  auto assignment = controller_->Introduce();
  if (!assignment) {
    base::Log(base::Level::kError, "no_assignment", {{"reason", assignment.error().message}});
    return 1;
  }
  job_ = std::make_unique<JobParts>();
  job_->assignment = std::move(*assignment);
  processes_ = std::make_unique<Processes>(job_.get(), this);
  deaths_ = std::make_unique<Deaths>(processes_.get(), &verdict_, clock_);
  reports_ =
      std::make_unique<Reports>(job_.get(), processes_.get(), &watch_, controller_.get(), metrics_);
  controller_->Listen(
      {.on_stop =
           [this](const std::string& reason) {
             End({.reason = outcome::Reason::kStopped, .message = reason});
           },
       .on_end =
           [this](const base::Error& error) {
             controller_gone_ = true;
             End({.reason = outcome::Reason::kServiceLost, .message = error.message});
           }},
      &mailbox_);
  if (auto ready = SetUp(); !ready) {
    const bool lost = ready.error().code == ErrorCode::kUnavailable;
    // An order to end may have come while a service was tried, and ended that.
    if (lost) RunTasks();
    End({.reason = lost ? outcome::Reason::kServiceLost : outcome::Reason::kCommandFailed,
         .message = ready.error().message});
  }
  if (!ending_.has_value()) Loop();
  CleanUp();
  SendOutcome();
  return controller_gone_ ? 1 : 0;
}

base::Result<void> Agent::SetUp() {
  const auto& assignment = job_->assignment;
  if (!assignment.iterations().log_pattern().empty()) {
    auto pattern = outcome::LinePattern::Compile(assignment.iterations().log_pattern());
    if (!pattern) return std::unexpected(pattern.error());
    job_->log_pattern.emplace(std::move(*pattern));
  }

  auto fold = folding::FromProto(assignment.folding());
  if (!fold) return std::unexpected(fold.error());
  job_->fold = std::move(*fold);

  const std::string module_folder = StrCat(assignment.run_directory(), "/modules");
  timing_ = std::make_unique<client::TimingClient>(
      client::TimingClient::Options{.address = assignment.timing_address(),
                                    .gpu = assignment.cluster().gpu(),
                                    .clock = assignment.cluster().gpu_clock(),
                                    .token = assignment.pass(),
                                    .patience = options_.patience,
                                    .module_folder = module_folder},
      &mailbox_);
  // Nothing else is in the mailbox by now than the controller's orders.
  const auto gpu = timing_->Describe([this] { return mailbox_.size() > 0; });
  if (!gpu) return FailureOfService(gpu.error());
  auto content = job::SegmentContentOf(assignment, *gpu);
  if (!content) return std::unexpected(content.error());
  if (auto written = job::WriteDeclarations(assignment); !written) {
    return std::unexpected(written.error());
  }
  job_->content = std::move(*content);
  job_->content.folded_ranks = job_->fold.ranks();
  if (timing_->measures()) job_->content.unknown_reads |= ::eidolon::ring::kReplayKernels;
  job_->content.unknown_reads |= timing_->code_wanted();
  // Without the folder nothing is measured or counted, and the service says so.
  std::error_code ignored;
  std::filesystem::create_directory(module_folder, ignored);
  job_->traits = job::TraitsOf(*gpu, assignment.cluster().gpu_power_limit_watts(),
                               job_->content.devices.size());
  job_->default_milliwatts = gpu->power_limit_watts() * 1000;
  job_->has_fixed_durations = gpu->has_fixed();
  gpu_metrics_.emplace(&metrics_->registry, job_.get());
  job_->varies = assignment.has_variation() && !gpu->has_fixed();
  costs_ = std::make_unique<cost::CostCache>(gpu->multiprocessors(), KernelPermille(assignment));
  reports_->UseCosts(costs_.get());
  CHECK(costs_->InternBasis(estimate::Source::kMeasured, 0, "none", 0) == session::kNoBasis);

  auto page = ring::ServerPage::Create(assignment.run_directory(), job_->content.host_model,
                                       job_->content.epoch_unix_ns);
  if (!page) return std::unexpected(page.error());
  page_.emplace(std::move(*page));
  page_->TellDeviceCount(static_cast<std::uint32_t>(job_->content.devices.size()));
  page_ready_.store(true);
  if (auto made = MakeHostCosts(); !made) return made;
  if (auto opened = OpenNetwork(); !opened) return opened;
  questions_.emplace(costs_.get(), timing_.get(), network_.get(), metrics_,
                     [this](const base::Error& error) { ServiceLost(error); });
  auto listener = ProcessListener::Start(
      assignment.run_directory(),
      {.on_hello = [this](int connection, const auto& hello) { OnHello(connection, hello); },
       .on_virtual_sleep =
           [this](int connection, const auto& virtual_sleep) {
             OnVirtualSleep(connection, virtual_sleep);
           },
       .on_hang_up = [this](int connection) { OnHangUp(connection); }},
      &mailbox_);
  if (!listener) return std::unexpected(listener.error());
  process_listener_ = std::move(*listener);
  CountMissing();
  return StartCommand();
}

base::Result<void> Agent::OpenNetwork() {
  const auto& assignment = job_->assignment;
  network_ = std::make_unique<client::NetworkClient>(
      client::NetworkClient::Options{
          .address = assignment.network_address(),
          .job = assignment.job(),
          .token = assignment.pass(),
          .server = assignment.server(),
          .keep_link_loads = assignment.has_timeline(),
          .on_message = [this](const auto& message) { OnNetworkMessage(message); },
          .on_end = [this](const base::Error& error) { ServiceLost(error); }},
      &mailbox_);
  auto opened = network_->Open(
      {.limit = options_.patience, .is_cancelled = [this] { return mailbox_.size() > 0; }});
  if (!opened) return FailureOfService(opened.error());
  return {};
}

// Where ranks tell each other what their host work takes; costs of the fixed model are given.
base::Result<void> Agent::MakeHostCosts() {
  if (!::eidolon::ring::TimesThreads(job_->content.host_model)) return {};
  const bool measured = !::eidolon::ring::HasCosts(job_->content.host_model);
  if (measured && job_->assignment.servers() == 1) impasse_.Allow();
  auto made = ring::HostCostFile::Create(job_->assignment.run_directory());
  if (!made) return std::unexpected(made.error());
  host_costs_.emplace(std::move(*made));
  return {};
}

// Returns what torchrun would serve: where ranks meet, and where mirrored ranks are answered for.
base::Result<void> Agent::StartStore() {
  const auto& assignment = job_->assignment;
  rendezvous::World world{.size = static_cast<std::int32_t>(job_->fold.ranks()),
                          .live = {job_->fold.live().begin(), job_->fold.live().end()}};
  auto store =
      rendezvous::StoreServer::Start({.address = assignment.master_address(),
                                      .port = static_cast<std::uint16_t>(assignment.master_port()),
                                      .world = std::move(world)});
  if (!store) return std::unexpected(store.error());
  store_ = std::move(*store);
  watch_.UseStore(store_.get());
  base::Log(base::Level::kInfo, "job_folded",
            {{"job", assignment.job()}, {"ranks", job_->fold.Describe()}});
  return {};
}

base::Result<void> Agent::StartCommand() {
  if (job_->assignment.has_replay()) return StartReplay();
  if (job_->fold.is_folded() && job_->assignment.server() == 0) {
    if (auto started = StartStore(); !started) return started;
  }
  memory_before_ = launch::ReadHostMemory();
  auto command = server::StartCommand(*job_, options_.library_folder, this);
  if (!command) return std::unexpected(command.error());
  command_ = std::move(*command);
  base::Log(base::Level::kInfo, "command_started",
            {{"job", job_->assignment.job()}, {"pid", StrCat(command_->pid())}});
  return {};
}

base::Result<void> Agent::StartReplay() {
  auto replay = RecordedRanks::Start(
      *job_, {.on_hello = [this](int connection, const auto& hello) { OnHello(connection, hello); },
              .on_hang_up = [this](int connection) { OnHangUp(connection); },
              .on_iteration =
                  [this](std::int32_t rank, std::uint64_t sequence, base::SimTime told) {
                    for (const auto& [number, session] : processes_->all()) {
                      if (processes_->ranks().NameOf(number) != rank) continue;
                      session->EndIterationAt({.sequence = sequence, .host_clock = told});
                    }
                  }});
  if (!replay) return std::unexpected(replay.error());
  replay_ = std::move(*replay);
  return {};
}

void Agent::Loop() {
  while (!ending_.has_value()) {
    const std::uint32_t seen = page_->doorbell();
    const bool moved = Step();
    if (!moved && !ending_.has_value()) page_->Sleep(seen, kSleepNs);
  }
}

bool Agent::RunTasks() {
  const auto tasks = mailbox_.TakeAll();
  for (const auto& task : tasks) task();
  // The command waits for the agent here, so the job does not stand still.
  if (tasks.size() > kBacklog) watch_.Move();
  return !tasks.empty();
}

// One round of the main loop. True when something moved.
bool Agent::Step() {
  const bool ran = RunTasks();
  const bool replayed = AdvanceReplay();
  const bool drained = DrainSessions();
  if (!leaving_.empty()) SettleLeaving();
  questions_->AskCosts();
  for (const auto& [number, session] : processes_->all()) {
    active_ = session->TakeActivity() || active_;
  }
  watch_.Pass();
  if (std::exchange(active_, false) || questions_->has_open()) {
    quiescence_.NoteActivity(clock_->MonotonicNs());
    impasse_.NoteActivity(clock_->MonotonicNs());
    virtual_sleeps_.NoteActivity(clock_->MonotonicNs());
    watch_.Move();
  }
  BreakImpasse();
  SendHorizon();
  network_->Flush();
  Housekeeping();
  return ran || replayed || drained;
}

void Agent::Housekeeping() {
  const std::int64_t now = clock_->MonotonicNs();
  deaths_->Watch();
  for (const auto& [number, session] : processes_->all()) session->WakeSleepers();
  if (now >= next_report_ns_) {
    next_report_ns_ = now + kReportEveryNs;
    reports_->SendProgress(mailbox_.size());
    if (next_usage_ns_ != 0 && now >= next_usage_ns_) {
      reports_->SendUsage(time_.clamped(), /*is_last=*/false);
    }
    if (now >= next_usage_ns_) next_usage_ns_ = now + kUsageEveryNs;
    gpu_metrics_->Show(*processes_);
  }
  if (command_status_.has_value() && now - command_ended_ns_ >= kFlushNs && leaving_.empty() &&
      !deaths_->IsLastWordOpen(command_ended_ns_)) {
    deaths_->Settle();
    return Judge(command_status_);
  }
  // Python takes seconds to end a rank that has gigabytes of tensors, and says nothing new.
  if (verdict_.is_ending_for_memory()) return Judge(std::nullopt);
  const bool has_lost = verdict_.has_rank_death() || verdict_.has_lost_session();
  const std::int64_t lost_ns = has_lost ? now - deaths_->first_ns() : 0;
  const bool moves = watch_.still_ns() < kRankGraceNs / 2;
  if (has_lost && lost_ns >= (moves ? kRankGraceMaxNs : kRankGraceNs)) {
    Judge(std::nullopt);
  }
}

void Agent::Judge(const std::optional<launch::ExitStatus>& command) {
  const auto memory = launch::ReadHostMemory();
  if (memory && memory_before_) {
    verdict_.NoteHostMemory(launch::HostMemorySince(*memory_before_, *memory));
  }
  End(verdict_.Judge(command));
}

void Agent::End(const outcome::Ending& ending) {
  if (ending_.has_value()) return;
  ending_ = ending;
  if (command_status_.has_value()) ending_->exit_status = command_status_->code;
  base::Log(base::Level::kInfo, "job_ending", {{"message", ending.message}});
}

// Everybody who waits is let go, the command ends, what is complete is reported.
void Agent::CleanUp() {
  if (command_ != nullptr) {
    // Before anybody who waits is let go: what ranks say then is said because the job ends.
    if (ending_.has_value() && ending_->reason == outcome::Reason::kStopped) {
      command_->AwaitOutput(kLastLinesMs, [this] { RunTasks(); });
      was_told_to_end_.store(true);
    }
    for (const auto& [number, session] : processes_->all()) session->Dismiss();
    const bool ended_itself = command_status_.has_value();
    command_->Stop(ended_itself ? 0 : kStopGraceMs, [this] { RunTasks(); });
    command_.reset();
    // Lines that were written while it ended.
    RunTasks();
  }
  process_listener_.reset();
  replay_.reset();
  if (processes_ != nullptr) {
    const bool failed = ending_.has_value() && ending_->reason != outcome::Reason::kCompleted &&
                        ending_->reason != outcome::Reason::kStopped;
    const auto how = failed ? iteration::ProgramEnd::kFailed : iteration::ProgramEnd::kWell;
    for (const auto& [number, session] : processes_->all()) session->Finish(how);
    processes_->SettleRanks();
    RanksChanged();
  }
  mailbox_.Close();
  if (network_ != nullptr) network_->Flush();
  AskForLinkLoads();
  network_.reset();
  timing_.reset();
}

// While the network service still knows this server.
void Agent::AskForLinkLoads() {
  if (network_ == nullptr || processes_ == nullptr || !job_->assignment.has_timeline()) return;
  auto loads = ReadLinkLoads(*processes_, network_.get());
  if (loads) {
    link_loads_ = std::move(*loads);
  } else {
    base::Log(base::Level::kWarning, "link_loads_not_read", {{"error", loads.error().message}});
  }
  auto names = ReadLinkNames(*processes_, network_.get());
  if (names) {
    link_names_ = std::move(*names);
  } else {
    base::Log(base::Level::kWarning, "link_names_not_read", {{"error", names.error().message}});
  }
}

void Agent::RequestStop(const std::string& reason) {
  mailbox_.Post([this, reason] { End({.reason = outcome::Reason::kStopped, .message = reason}); });
}

// The last words: event log, progress, usage, outcome.
void Agent::SendOutcome() {
  if (!ending_.has_value() || controller_gone_) return;
  if (job_->assignment.write_event_log()) reports_->JoinEventLogs();
  std::string not_recorded;
  if (job_->assignment.keep_recording() && processes_ != nullptr) {
    if (const auto written = WriteRecording(*job_, *processes_); !written) {
      not_recorded = written.error().message;
      base::Log(base::Level::kError, "recording_not_written", {{"error", not_recorded}});
    }
  }
  if (job_->assignment.has_timeline() && processes_ != nullptr) {
    if (const auto written = WriteTimeline(*job_, *processes_, *costs_, link_loads_); !written) {
      base::Log(base::Level::kError, "timeline_not_written", {{"error", written.error().message}});
    }
    if (const auto written = WriteTraces(*job_, *processes_, *costs_, link_names_); !written) {
      base::Log(base::Level::kError, "traces_not_written", {{"error", written.error().message}});
    }
  }
  if (processes_ != nullptr) SendOutputs(job_->assignment, not_recorded, controller_.get());
  reports_->SendProgress(mailbox_.size());
  reports_->SendUsage(time_.clamped(), /*is_last=*/true);
  reports_->SendOutcome(*ending_);
}

void Agent::Line(launch::OutputStream stream, std::string text) {
  // Output produced after a stop request is not reported.
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
  line->set_text(text);
  line->set_virtual_picoseconds(page_->job_clock_ps());
  controller_->Send(report);
  if (!ending_.has_value() || ending_->reason != outcome::Reason::kStopped) MatchLine(text);
}

// A line ends an iteration of every rank of the server.
void Agent::MatchLine(const std::string& text) {
  if (!job_->log_pattern.has_value() || !job_->log_pattern->EndsIteration(text)) return;
  for (const auto& [number, session] : processes_->all()) session->EndIterationByLog();
}

clock::Look Agent::LookAtProcesses() {
  return command_ == nullptr ? clock::Look::kStill : watch_.Look(*processes_);
}

}  // namespace eidolon::agent::server
