// `run` is `up`, `submit` and `get` in one process: it starts the services, sends the job over the
// same REST interface, and stops them. So a prediction never depends on the way in which it was
// asked for. Following takes a thread of its own, because the main thread waits for signals: an
// interruption must still print what was measured so far, before the services end. The report and
// the program's output share standard output; documents (-o json) get it alone, and the output goes
// to standard error.
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "services/base/log.h"
#include "services/cli/client.h"
#include "services/cli/commands.h"
#include "services/cli/embedded.h"
#include "services/cli/follow.h"
#include "services/cli/job_file.h"
#include "services/cli/names.h"
#include "services/cli/report.h"
#include "services/cli/run_data.h"
#include "services/cli/run_document.h"
#include "services/cli/terminal.h"
#include "services/controller/job/document.h"
#include "services/runtime/signal_waiter.h"
#include "services/timing/profile/profile_cache.h"

namespace eidolon::cli {
namespace {

using base::Result;
using nlohmann::json;

constexpr int kSignalPollMs = 50;
constexpr int kCountMax = 1'000'000'000;  // Of flags: the controller has limits of its own.

struct RunCommandFlags {
  RunFlags run;
  EmbeddedOptions embedded;
  std::string output = "report";
  std::string timeline;   // File; empty: none.
  std::string recording;  // The same.
  bool critical_path = false;
  bool raw = false;
  bool must_measure = false;  // Without a GPU there is nothing to do.
};

struct Followed {
  Result<json> job;
  bool interrupted = false;
};

// Follows the job on a thread of its own, so that this one can listen to signals.
Followed FollowOrInterrupt(const Client& client, const FollowOptions& options, Terminal* terminal,
                           runtime::SignalWaiter* signals, Embedded* embedded) {
  std::optional<Result<json>> result;
  std::atomic<bool> done = false;
  std::thread follower([&] {
    result.emplace(Follow(client, options, terminal));
    done = true;
  });
  bool interrupted = false;
  while (!done && !interrupted) interrupted = signals->WaitFor(kSignalPollMs).has_value();
  if (!interrupted) {
    follower.join();
    return {std::move(*result)};
  }
  Result<json> partial =
      base::Fail(base::ErrorCode::kUnavailable, "the job's last status could not be read");
  (void)embedded->Stop([&] {
    partial = client.SendForJson({.method = "GET", .path = JobPath("default", options.name)});
  });
  follower.join();
  return {std::move(partial), true};
}

// A shell reports a command that SIGINT has ended with this status.
constexpr int kInterruptedStatus = 130;

void PrintResult(const json& job, const std::string& output, Terminal* terminal) {
  if (output == "json") return terminal->Print(job.dump(2) + "\n");
  if (output == "yaml") return terminal->Print(controller::job::ToYaml(job));
  terminal->Print("\n" + FormatReport(WithoutQuotedOutput(job)));
}

int PrintInterrupted(const Result<json>& job, const std::string& output, Terminal* terminal) {
  if (!job) {
    (void)PrintFailure(job.error());
    return kInterruptedStatus;
  }
  PrintResult(*job, output, terminal);
  const json::json_pointer measured("/status/prediction/measuredIterations");
  const int iterations = job->contains(measured) ? job->at(measured).get<int>() : 0;
  std::fprintf(stderr, "eidolon: interrupted; this result is partial: %d iteration(s) measured\n",
               iterations);
  return kInterruptedStatus;
}

Result<void> FetchFiles(const Client& client, const RunCommandFlags& flags) {
  const auto fetch = [&](const std::string& what, const std::string& file) {
    return FetchJobFile(
        client, {.name_space = "default", .job = flags.run.name, .what = what, .file = file});
  };
  if (!flags.timeline.empty()) {
    if (auto fetched = fetch("timeline", flags.timeline); !fetched) return fetched;
    PrintTimelineHint(flags.timeline);
  }
  if (!flags.recording.empty()) {
    if (auto fetched = fetch("recording", flags.recording); !fetched) return fetched;
    PrintRecordingHint(flags.recording);
  }
  return {};
}

int RunOnce(const RunCommandFlags& wanted) {
  RunCommandFlags flags = wanted;
  runtime::SignalWaiter signals;
  flags.embedded.controller.job_umask = umask(077);
  base::SetLogLevel(base::Level::kWarning);
  // What the timeline shows is what the critical path is found in.
  if (flags.timeline.empty() && !flags.critical_path) flags.run.timeline_iterations = 0;
  if (!flags.timeline.empty()) {
    if (const auto may = CheckJobFile("timeline", flags.timeline); !may) {
      return PrintFailure(may.error());
    }
  }
  flags.run.recording = !flags.recording.empty();
  if (flags.run.recording) {
    const auto may = CheckJobFile("recording", flags.recording);
    if (!may) return PrintFailure(may.error());
  }
  const auto folder = CurrentFolder();
  if (!folder) return PrintFailure(folder.error());
  CompleteGpu(flags.embedded.gpu_models, &flags.run.gpu);
  CompletePreset(&flags.run.preset);
  const auto document = MakeRunDocument(flags.run, *folder);
  if (!document) return PrintFailure(document.error());
  const auto data = RunData::Make(flags.embedded.controller.data_directory);
  if (!data) return PrintFailure(data.error());
  flags.embedded.controller.data_directory = data->path();
  if (data->is_temporary()) flags.embedded.controller.temporary_folders = {data->path()};
  flags.embedded.controller.rest_address.clear();
  auto embedded = Embedded::Start(flags.embedded);
  if (!embedded) return PrintFailure(embedded.error());
  if (flags.must_measure && !(*embedded)->owns_gpu()) {
    return PrintFailure({base::ErrorCode::kUnavailable,
                         "there is no GPU to measure on; the warning above says why"});
  }
  const Client client((*embedded)->target());
  const auto created = client.SendForJson({.method = "POST",
                                           .path = JobPath("default"),
                                           .body = document->dump(),
                                           .content_type = "application/json"});
  if (!created) return PrintFailure(created.error());
  // The program's output is part of the report, but of no document.
  Terminal terminal = Terminal::Standard(flags.raw);
  Terminal messages = Terminal::Messages(flags.raw);
  Terminal* const shown = flags.output == "report" ? &terminal : &messages;
  const auto [job, interrupted] =
      FollowOrInterrupt(client, {.name = flags.run.name, .prefix = flags.run.servers > 1}, shown,
                        &signals, embedded->get());
  if (interrupted) return PrintInterrupted(job, flags.output, &terminal);
  if (!job) return PrintFailure(job.error());
  PrintResult(*job, flags.output, &terminal);
  if (const auto fetched = FetchFiles(client, flags); !fetched)
    return PrintFailure(fetched.error());
  return ExitStatusOf(*job);
}

// Runs the job with a GPU that measures its work, and tells what the profile has gained.
int Record(const RunCommandFlags& flags) {
  const auto rows = [&]() -> Result<std::uint64_t> {
    const auto cache = timing::profile::ProfileCache::Open(flags.embedded.profile);
    if (!cache) return std::unexpected(cache.error());
    return (*cache)->row_count();
  };
  const auto before = rows();
  if (!before) return PrintFailure(before.error());
  const int status = RunOnce(flags);
  const auto after = rows();
  if (!after) return PrintFailure(after.error());
  std::fprintf(stderr, "eidolon: %s has %llu measured durations, %llu of them new\n",
               flags.embedded.profile.c_str(), static_cast<unsigned long long>(*after),
               static_cast<unsigned long long>(*after - *before));
  return status;
}

void AddRanks(CLI::App* run, RunFlags* flags) {
  RunFlags& f = *flags;
  run->add_option("--variation", f.variation,
                  "published: GPUs of ranks differ as on a cluster (the default); none: all alike")
      ->check(CLI::IsMember({"published", "none"}));
  run->add_option("--variation-seed", f.variation_seed,
                  "deals out slower and faster GPUs to ranks");
  run->add_option("--fold", f.folding,
                  "run a few ranks and mirror the others: auto (where memory is short), off, "
                  "required")
      ->check(CLI::IsMember({"auto", "off", "required"}));
  run->add_option("--live", f.live, "ranks that run besides, when the job is folded")
      ->delimiter(',');
  run->add_option("--live-per-class", f.live_per_class, "ranks of each class that run")
      ->check(CLI::PositiveNumber);
}

void AddFlags(CLI::App* run, RunCommandFlags* flags) {
  RunFlags& f = flags->run;
  run->add_option("--gpu", f.gpu,
                  "GPU model, such as H100-SXM5-80GB (the default); 'eidolon gpus' lists them");
  run->add_option("--gpu-clock", f.gpu_clock,
                  "clock of the GPUs' multiprocessors, over the model's: 0.25 to 1.5")
      ->check(CLI::PositiveNumber);
  run->add_option("--preset", f.preset,
                  "server preset, such as dgx-h100; 'eidolon presets' lists them");
  run->add_option("--cluster", f.cluster_file, "file with a SimulatedCluster document")
      ->excludes("--gpu")
      ->excludes("--gpu-clock")
      ->excludes("--preset");
  run->add_option("--servers", f.servers, "servers; the command runs once on each")
      ->check(CLI::Range(1, kCountMax));
  run->add_option("--gpus-per-server", f.gpus_per_server, "GPUs of a server")
      ->check(CLI::Range(1, kCountMax));
  run->add_option("--ranks-per-server", f.ranks_per_server, "ranks of a server")
      ->check(CLI::Range(1, kCountMax));
  run->add_option("--warmup", f.warmup, "iterations that do not count")->capture_default_str();
  run->add_option("--measure", f.measure, "iterations to measure")
      ->check(CLI::Range(1, kCountMax))
      ->capture_default_str();
  run->add_option(
         "--host-model", f.host_model,
         "counted, nearly the same on every machine; measured; or fixed, for bit-identical runs")
      ->check(CLI::IsMember({"measured", "counted", "fixed"}))
      ->capture_default_str();
  run->add_option("--tokens", f.tokens, "tokens per iteration of the whole job");
  run->add_option("--samples", f.samples, "samples per iteration of the whole job, such as images");
  run->add_option("--parameters", f.parameters, "parameters of the model");
  run->add_option("--nvtx", f.boundary_nvtx, "an iteration is this NVTX range");
  run->add_option("--log-pattern", f.boundary_log, "an iteration ends with a line like this");
  run->add_option("--values", f.values, "on: small kernels are run for their results; off")
      ->check(CLI::IsMember({"on", "off"}));
  run->add_option("--expert-routing", f.expert_routing,
                  "a router's choice is uniform: EXPERTS, TOKENS that a rank routes at a time, "
                  "experts of a token")
      ->expected(3);
  AddRanks(run, &f);
  run->add_flag("--strict", f.strict, "stop at the first call that is not supported");
  run->add_flag("--event-log", f.event_log, "keep every operation's times (with --data-dir)");
  CLI::Option* timeline = run->add_option(
      "--timeline", flags->timeline, "write what happened when to this file, for ui.perfetto.dev");
  f.timeline_iterations = 1;
  run->add_option("--timeline-iterations", f.timeline_iterations,
                  "iterations of the timeline, from the first measured one on")
      ->check(CLI::Range(1, 1000))
      ->needs(timeline)
      ->capture_default_str();
  run->add_option("--timeline-ranks", f.timeline_ranks, "ranks of the timeline; default: all")
      ->delimiter(',')
      ->needs(timeline);
  run->add_flag("--critical-path", flags->critical_path,
                "report what the first measured iteration waited for, as --timeline does, too");
  run->add_option("--record", flags->recording,
                  "keep what the ranks ask of their GPUs in this file, for 'eidolon replay'");
  run->add_option("--data-dir", flags->embedded.controller.data_directory, "keep the job here");
  run->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  run->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  run->add_option("--profile", flags->embedded.profile, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  timing::AddGpuFlags(run, &flags->embedded.own_gpu);
  timing::AddCountFlags(run, &flags->embedded.counting);
  run->add_option("-o,--output", flags->output, "report, json or yaml")
      ->check(CLI::IsMember({"report", "json", "yaml"}))
      ->capture_default_str();
  run->add_option("command", f.command, "the program and its arguments, after --")->required();
}

}  // namespace

void AddRunCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<RunCommandFlags>();
  CLI::App* run = app->add_subcommand("run", "predict one command; no server is needed");
  AddFlags(run, flags.get());
  run->positionals_at_end();
  run->footer(
      "Examples:\n"
      "  eidolon run -- python train.py                                one H100\n"
      "  eidolon run --gpus-per-server 8 -- torchrun train.py          eight of them\n"
      "  eidolon run --preset dgx-b200 --servers 4 -- torchrun train.py\n"
      "  eidolon run --preset dgx-h100 --servers 128 --fold required -- torchrun train.py\n"
      "  eidolon run -o json -- python train.py >report.json           its output on stderr");
  run->callback([flags, globals, action] {
    flags->raw = globals->raw;
    *action = [flags] { return RunOnce(*flags); };
  });
}

void AddProfileRunCommand(CLI::App* profile, const Globals* globals, Action* action) {
  auto flags = std::make_shared<RunCommandFlags>();
  flags->embedded.own_gpu.gpu = "0";
  flags->must_measure = true;
  CLI::App* run = profile->add_subcommand(
      "run", "measure all work of one command on a GPU of this machine, into --profile");
  AddFlags(run, flags.get());
  run->get_option("--profile")->required();
  run->positionals_at_end();
  run->callback([flags, globals, action] {
    flags->raw = globals->raw;
    *action = [flags] { return Record(*flags); };
  });
}

}  // namespace eidolon::cli
