// replay: predicts a recording again, also on another cluster.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "services/cli/ask_what_if.h"
#include "services/cli/commands.h"
#include "services/cli/job_file.h"
#include "services/cli/names.h"
#include "services/cli/replay_document.h"
#include "services/cli/replays.h"
#include "services/cli/report.h"
#include "services/cli/run_document.h"
#include "services/cli/terminal.h"
#include "services/cli/what_if.h"
#include "services/contract/recording/recording_file.h"
#include "services/controller/job/document.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {
namespace {

using controller::shown::CountAt;
using controller::shown::PhaseOf;
using nlohmann::json;

constexpr int kReplayCountMax = 1'000'000;

struct ReplayFlags {
  std::string recording;
  ReplayChanges changes;
  std::string cluster_file;
  std::string servers = "same";
  EmbeddedOptions embedded;
  std::string output = "report";
  std::string timeline;
  bool critical_path = false;
  bool event_log = false;
  bool raw = false;
};

std::uint64_t QueriesOf(const recording::RecordingFile& file) {
  std::uint64_t queries = 0;
  for (const recording::RecordedRank& rank : file.ranks()) queries += rank.header.queries;
  return queries;
}

int Replay(const ReplayFlags& flags) {
  if (flags.servers != "same") {
    return PrintFailure({base::ErrorCode::kInvalidArgument,
                         "--servers can be 'same' only: a recording does not tell what the program "
                         "does with another number of ranks; run it with 'eidolon run'"});
  }
  if (!flags.timeline.empty()) {
    if (const auto may = CheckJobFile("timeline", flags.timeline); !may) {
      return PrintFailure(may.error());
    }
  }
  const auto file = recording::RecordingFile::Open(flags.recording);
  if (!file) return PrintFailure(file.error());
  const auto recorded = ReadRecordedJob(file->job());
  if (!recorded) return PrintFailure(recorded.error());
  ReplayChanges changes = flags.changes;
  CompleteGpu(flags.embedded.gpu_models, &changes.gpu);
  CompletePreset(&changes.preset);
  CompleteFabric(&changes.fabric);
  if (!flags.cluster_file.empty()) {
    auto cluster = ReadClusterFile(flags.cluster_file);
    if (!cluster) return PrintFailure(cluster.error());
    changes.cluster = std::move(*cluster);
  }
  json document = MakeReplayDocument(
      *recorded, std::filesystem::absolute(flags.recording).lexically_normal().string(), changes);
  if (!flags.timeline.empty() || flags.critical_path) {
    document["spec"]["outputs"]["timeline"]["iterations"] = 1;
  }
  if (flags.event_log) document["spec"]["outputs"]["eventLog"] = true;
  const auto replays = Replays::Start(flags.embedded);
  if (!replays) return PrintFailure(replays.error());
  const auto job = (*replays)->Predict(document);
  if (!job) return PrintFailure(job.error());
  Terminal terminal = Terminal::Standard(flags.raw);
  if (flags.output == "json") {
    terminal.Print(job->dump(2) + "\n");
  } else if (flags.output == "yaml") {
    terminal.Print(controller::job::ToYaml(*job));
  } else {
    terminal.Print(FormatReport(*job) + FormatReplay(*recorded, *job, QueriesOf(*file)));
  }
  if (!flags.timeline.empty()) {
    const auto fetched = (*replays)->Fetch("replay", "timeline", flags.timeline);
    if (!fetched) return PrintFailure(fetched.error());
    PrintTimelineHint(flags.timeline);
  }
  return PhaseOf(*job) == "Complete" ? 0 : 1;
}

struct WhatIfFlags {
  std::string recording;
  std::string gpu;
  EmbeddedOptions embedded;
  std::string output = "report";
  bool raw = false;
};

// Exit status of a ranking with gaps.
constexpr int kNotAllAnswered = 3;

int PrintWhatIf(const WhatIfFlags& flags) {
  std::string gpu = flags.gpu;
  CompleteGpu(flags.embedded.gpu_models, &gpu);
  const auto answers = AskWhatIf(flags.recording, gpu, flags.embedded);
  if (!answers) return PrintFailure(answers.error());
  Terminal::Standard(flags.raw).Print(flags.output == "json" ? answers->dump(2) + "\n"
                                                             : FormatWhatIfs(*answers));
  return CountAt(*answers, {"notAnswered"}) > 0 ? kNotAllAnswered : 0;
}

void AddChanges(CLI::App* replay, ReplayFlags* flags) {
  ReplayChanges& changes = flags->changes;
  replay->add_option("--gpu", changes.gpu, "another GPU model, such as B200-SXM-180GB");
  replay
      ->add_option("--gpu-clock", changes.gpu_clock,
                   "clock of the GPUs' multiprocessors, over the model's: 0.25 to 1.5")
      ->check(CLI::PositiveNumber);
  replay->add_option("--preset", changes.preset, "another server preset, such as dgx-b200");
  replay->add_option("--cluster", flags->cluster_file, "file with a SimulatedCluster document");
  replay->add_option("--nics", changes.nics, "NICs of a server")->check(CLI::Range(1, 256));
  replay->add_option("--nic-gbps", changes.nic_gbps, "rate of each NIC, in Gbit/s")
      ->check(CLI::PositiveNumber);
  replay->add_option("--fabric", changes.fabric, "another fabric preset, such as fat-tree");
  replay
      ->add_option("--host-factor", changes.host_factor,
                   "what the host's work takes, over what it took; 0: nothing")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  replay
      ->add_option("--kernel-factor", changes.kernel_factor,
                   "what kernels and copies take, over what they would; 0: nothing")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  replay
      ->add_option("--communication-factor", changes.communication_factor,
                   "what transfers between GPUs take, over what they would; 0: nothing")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  replay->add_flag("--even-hosts", changes.even_hosts,
                   "all ranks' hosts work as little as the one that worked least");
  replay->add_option("--servers", flags->servers, "same: a recording answers for no other number")
      ->capture_default_str();
  replay->add_option("--tokens", changes.tokens, "tokens per iteration of the whole job")
      ->check(CLI::Range(1, kReplayCountMax));
  replay->add_option("--samples", changes.samples, "samples per iteration, such as images")
      ->check(CLI::Range(1, kReplayCountMax));
}

}  // namespace

void AddReplayCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<ReplayFlags>();
  CLI::App* replay =
      app->add_subcommand("replay", "predict a recording again, also for another cluster");
  replay->add_option("recording", flags->recording, "file of 'eidolon run --record'")->required();
  AddChanges(replay, flags.get());
  replay->add_option("--timeline", flags->timeline, "write what happened when to this file");
  replay->add_flag("--critical-path", flags->critical_path,
                   "report what the first measured iteration waited for, as --timeline does, too");
  replay->add_flag("--event-log", flags->event_log,
                   "keep every operation's times (with --data-dir)");
  replay->add_option("--data-dir", flags->embedded.controller.data_directory, "keep the job here");
  replay->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  replay->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  replay->add_option("--profile", flags->embedded.profile, "SQLite file of measured durations")
      ->envname("EIDOLON_PROFILE");
  replay->add_option("-o,--output", flags->output, "report, json or yaml")
      ->check(CLI::IsMember({"report", "json", "yaml"}))
      ->capture_default_str();
  replay->callback([flags, globals, action] {
    flags->raw = globals->raw;
    *action = [flags] { return Replay(*flags); };
  });
}

void AddWhatIfCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<WhatIfFlags>();
  CLI::App* what_if =
      app->add_subcommand("what-if", "rank what would make a recorded job faster, by replays");
  what_if->add_option("recording", flags->recording, "file of 'eidolon run --record'")->required();
  what_if->add_option("--gpu", flags->gpu, "another GPU to ask about; default: the next one");
  what_if->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  what_if->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  what_if->add_option("-o,--output", flags->output, "report or json")
      ->check(CLI::IsMember({"report", "json"}))
      ->capture_default_str();
  what_if->callback([flags, globals, action] {
    flags->raw = globals->raw;
    *action = [flags] { return PrintWhatIf(*flags); };
  });
}

}  // namespace eidolon::cli
