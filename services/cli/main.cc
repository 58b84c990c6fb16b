// eidolon: the command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string>

#include "services/base/standard_output.h"
#include "services/cli/commands.h"
#include "services/cli/net/command.h"
#include "services/cli/unknown_word.h"
#include "services/cli/values/command.h"
#include "services/cli/versions.h"
#include "services/controller/embedded/controller_host.h"
#include "services/controller/rest/embedded.h"

namespace {

// Runs the command. An exception of the standard library, where the machine refuses something, is a
// failure like others.
int Perform(const eidolon::cli::Action& action) {
  using eidolon::base::ErrorCode;
  try {
    return action();
  } catch (const std::filesystem::filesystem_error& error) {
    return eidolon::cli::PrintFailure(
        {ErrorCode::kFailedPrecondition,
         std::string(error.what()) + "; the current folder may have been removed"});
  } catch (const std::exception& error) {
    return eidolon::cli::PrintFailure(
        {ErrorCode::kInternal, std::string("the machine refuses: ") + error.what()});
  }
}

void AddVersionFlags(CLI::App* app) {
  CLI::Option* const verbose =
      app->add_flag("--verbose")->description("with --version: the libraries in it too");
  verbose->needs(app->set_version_flag("--version", [verbose]() -> std::string {
    return verbose->count() == 0 ? EIDOLON_VERSION
                                 : eidolon::cli::DescribeVersions(EIDOLON_VERSION);
  }));
}

int Run(int argc, char** argv) {
  CLI::App app(
      "Eidolon predicts how a GPU cluster would run a training job, without the cluster.\n"
      "'eidolon run -- torchrun train.py' predicts at once; 'eidolon up' starts a server for "
      "jobs.");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  eidolon doctor                                          what is missing here\n"
      "  eidolon run --gpus-per-server 8 -- torchrun train.py    predict one command\n"
      "  eidolon up & eidolon submit --follow -f job.yaml        predict many\n"
      "  eidolon gpus                                            what can be emulated\n"
      "  eidolon explain job.spec.iterations                     what a field means\n"
      "  source <(eidolon completion bash)                       complete words in this shell\n"
      "Exit status: 0 done, 1 failed, 2 wrong use, 3 predicted from fewer iterations than were\n"
      "asked for, 130 interrupted.");
  AddVersionFlags(&app);
  eidolon::cli::Globals globals;
  globals.data_directory = eidolon::controller::embedded::DefaultDataDirectory();
  app.add_option("--server", globals.server,
                 "controller to talk to; default: the one of --data-dir, or http://127.0.0.1:8080")
      ->envname("EIDOLON_SERVER");
  app.add_option("--data-dir", globals.data_directory, "data folder of the 'eidolon up' to talk to")
      ->envname("EIDOLON_DATA_DIR")
      ->capture_default_str();
  app.add_option("--token-file", globals.token_file,
                 "file with the token for --server; or the token itself in EIDOLON_TOKEN");
  app.add_flag("--raw", globals.raw,
               "let control characters of jobs reach the terminal, which obeys them");
  app.add_option("-n,--namespace", globals.name_space, "namespace of jobs and clusters")
      ->capture_default_str();
  eidolon::cli::Action action;
  eidolon::cli::AddUpCommand(&app, &action);
  eidolon::cli::AddLinkCommand(&app, &globals, &action);
  eidolon::cli::AddRunCommand(&app, &globals, &action);
  eidolon::cli::AddProfileCommands(&app, &globals, &action);
  eidolon::cli::AddJobCommands(&app, &globals, &action);
  eidolon::cli::AddReportCommand(&app, &globals, &action);
  eidolon::cli::AddCompareCommand(&app, &globals, &action);
  eidolon::cli::AddKernelCommands(&app, &action);
  eidolon::cli::AddReplayCommand(&app, &globals, &action);
  eidolon::cli::AddWhatIfCommand(&app, &globals, &action);
  eidolon::cli::AddSearchCommand(&app, &globals, &action);
  eidolon::cli::AddSweepCommand(&app, &globals, &action);
  eidolon::cli::AddBenchCommand(&app, &action);
  eidolon::cli::AddDoctorCommand(&app, &globals, &action);
  eidolon::cli::AddNamesCommands(&app, &action);
  eidolon::cli::AddGuideCommands(&app, eidolon::controller::rest::OpenApiDocument(), &action);
  eidolon::cli::net::AddCommands(&app, &action);
  eidolon::cli::values::AddCommands(&app, eidolon::controller::embedded::ProgramDirectory().c_str(),
                                    &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Other errors name their word themselves.
    const int code = error.get_exit_code();
    const bool misplaced = code == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                           code == static_cast<int>(CLI::ExitCodes::RequiredError);
    const auto unknown = misplaced ? eidolon::cli::DescribeUnknownWord(app) : std::nullopt;
    if (unknown) {
      std::fprintf(stderr, "eidolon: %s\n", unknown->c_str());
      return 2;
    }
    std::ostringstream help;
    const int status = app.exit(error, help) == 0 ? 0 : 2;
    eidolon::base::Print(help.str());
    return status;
  }
  return action ? Perform(action) : 2;
}

}  // namespace

int main(int argc, char** argv) {
  eidolon::base::ReserveStandardStreams();
  return eidolon::base::FinishOutput(Run(argc, argv));
}
