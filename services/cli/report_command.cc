// report: a job's report as text, or as a page to send to somebody.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "services/base/write_file.h"
#include "services/cli/ask_what_if.h"
#include "services/cli/client.h"
#include "services/cli/commands.h"
#include "services/cli/job_document.h"
#include "services/cli/job_file.h"
#include "services/cli/report.h"
#include "services/cli/report_figures.h"
#include "services/cli/run_data.h"
#include "services/cli/run_document.h"
#include "services/cli/terminal.h"
#include "services/cli/what_if.h"
#include "services/controller/page/report_file.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {
namespace {

using controller::shown::At;
using nlohmann::json;

struct ReportFlags {
  std::string name;
  std::string file;
  std::string html;
  bool what_if = false;
  std::string recording;  // Of the job; empty: the server's.
  std::string gpu;
  double gpu_price = 0;  // For an hour; 0: not known.
  EmbeddedOptions embedded;
};

// The job's document: of a server, or what `-o json` has printed into a file.
base::Result<json> ReadJob(const Globals& globals, const ReportFlags& flags) {
  return flags.file.empty() ? FetchJobDocument(globals, flags.name) : ReadJobDocument(flags.file);
}

// Returns what would help the job, by replays of its recording; null where nobody asks.
base::Result<json> Ask(const Globals& globals, const ReportFlags& flags) {
  if (!flags.what_if) return json();
  if (!flags.recording.empty()) return AskWhatIf(flags.recording, flags.gpu, flags.embedded);
  if (flags.name.empty()) {
    return base::Fail(base::ErrorCode::kInvalidArgument,
                      "--what-if with --file needs the job's recording too (--recording)");
  }
  const auto target = FindTarget(globals);
  if (!target) return std::unexpected(target.error());
  const auto data = RunData::Make("");
  if (!data) return base::Wrap("no folder for the recording", data.error());
  const std::string file = data->path() + "/recording";
  const auto fetched = FetchJobFile(
      Client(*target),
      {.name_space = globals.name_space, .job = flags.name, .what = "recording", .file = file});
  if (!fetched) {
    return base::Wrap("--what-if needs the job's recording (outputs: {recording: true})",
                      fetched.error());
  }
  return AskWhatIf(file, flags.gpu, flags.embedded);
}

int Report(const Globals& globals, const ReportFlags& flags) {
  if (flags.name.empty() == flags.file.empty()) {
    PrintFailure({base::ErrorCode::kInvalidArgument,
                  "name a job, or a file that 'eidolon get JOB -o json' has printed (--file)"});
    return 2;
  }
  auto job = ReadJob(globals, flags);
  if (!job) return PrintFailure(job.error());
  const auto answers = Ask(globals, flags);
  if (!answers) return PrintFailure(answers.error());
  AddReplays(*answers, &*job);
  if (flags.html.empty()) {
    Terminal::Standard(globals.raw)
        .Print(FormatReport(*job) +
               FormatPrice(At(*job, {"status", "prediction"}), flags.gpu_price) +
               (answers->is_null() ? ""
                                   : "  what would help, by replays:\n" + FormatWhatIfs(*answers)));
    return 0;
  }
  const json data = {{"job", *job}, {"whatIfs", *answers}, {"version", EIDOLON_VERSION}};
  const auto written = base::WriteFile(
      flags.html, controller::page::ReportFile(
                      data.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace)));
  return written ? 0 : PrintFailure(written.error());
}

}  // namespace

void AddReportCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report = app->add_subcommand("report", "print a job's report, or write it as a page");
  report->add_option("name", flags->name, "name of a job");
  report->add_option("--file", flags->file, "a job's document in JSON instead of a server's job");
  report->add_option("--html", flags->html, "write one self-contained page here");
  report->add_flag("--what-if", flags->what_if,
                   "add what would help, by replays of the job's recording");
  report->add_option("--recording", flags->recording,
                     "the job's recording; default: what the server keeps of it");
  report->add_option("--gpu", flags->gpu, "--what-if: another GPU to ask about");
  report
      ->add_option("--gpu-price", flags->gpu_price,
                   "what a GPU costs for an hour: adds the cost of a step, and of a million tokens")
      ->check(CLI::NonNegativeNumber);
  report->add_option("--agent", flags->embedded.controller.agent, "path of eidolon-agent");
  report->add_option("--gpu-models", flags->embedded.gpu_models, "folder with GPU model files")
      ->envname("EIDOLON_GPU_MODELS");
  report->callback([=] { *action = [=] { return Report(*globals, *flags); }; });
}

}  // namespace eidolon::cli
