// report: a job's report as text, or as a page to send to somebody.
#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "services/cli/client.h"
#include "services/cli/commands.h"
#include "services/cli/html_report.h"
#include "services/cli/report.h"
#include "services/cli/run_document.h"
#include "services/cli/terminal.h"
#include "services/controller/job/document.h"

namespace eidolon::cli {
namespace {

using nlohmann::json;

struct ReportFlags {
  std::string name;
  std::string file;
  std::string html;
};

// The job's document: of a server, or what `-o json` has printed into a file.
base::Result<json> ReadJob(const Globals& globals, const ReportFlags& flags) {
  if (!flags.file.empty()) {
    const auto text = ReadFile(flags.file);
    if (!text) return std::unexpected(text.error());
    auto document = controller::job::ParseJson(*text);
    if (!document) return base::Wrap(flags.file, document.error());
    return document;
  }
  const auto target = FindTarget(globals);
  if (!target) return std::unexpected(target.error());
  return Client(*target).SendForJson(
      {.path = "/api/v1/namespaces/" + globals.name_space + "/simulationjobs/" + flags.name});
}

int Report(const Globals& globals, const ReportFlags& flags) {
  if (flags.name.empty() == flags.file.empty()) {
    PrintFailure({base::ErrorCode::kInvalidArgument,
                  "name a job, or a file that 'eidolon get JOB -o json' has printed (--file)"});
    return 2;
  }
  const auto job = ReadJob(globals, flags);
  if (!job) return PrintFailure(job.error());
  if (flags.html.empty()) {
    Terminal::Standard(globals.raw).Print(FormatReport(*job));
    return 0;
  }
  std::ofstream out(flags.html, std::ios::binary | std::ios::trunc);
  out << FormatHtmlReport(*job, EIDOLON_VERSION);
  out.close();
  if (!out) {
    return PrintFailure({base::ErrorCode::kUnavailable, "cannot write '" + flags.html + "'"});
  }
  return 0;
}

}  // namespace

void AddReportCommand(CLI::App* app, const Globals* globals, Action* action) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* report = app->add_subcommand("report", "print a job's report, or write it as a page");
  report->add_option("name", flags->name, "name of a job");
  report->add_option("--file", flags->file, "a job's document in JSON instead of a server's job");
  report->add_option("--html", flags->html, "write one self-contained page here");
  report->callback([=] { *action = [=] { return Report(*globals, *flags); }; });
}

}  // namespace eidolon::cli
