// eidolon: the command.
#include <CLI/CLI.hpp>

#include "services/cli/commands.h"
#include "services/cli/net/command.h"
#include "services/cli/values/command.h"
#include "services/controller/controller_host.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Eidolon predicts how a GPU cluster would run a training job, without the cluster.\n"
      "'eidolon run -- torchrun train.py' predicts at once; 'eidolon up' starts a server for "
      "jobs.");
  app.require_subcommand(1);
  app.set_version_flag("--version", EIDOLON_VERSION);
  eidolon::cli::Globals globals;
  app.add_option("--server", globals.server, "controller to talk to")
      ->envname("EIDOLON_SERVER")
      ->capture_default_str();
  app.add_option("-n,--namespace", globals.name_space, "namespace of jobs and clusters")
      ->capture_default_str();
  eidolon::cli::Action action;
  eidolon::cli::AddUpCommand(&app, &action);
  eidolon::cli::AddRunCommand(&app, &action);
  eidolon::cli::AddProfileCommands(&app, &action);
  eidolon::cli::AddJobCommands(&app, &globals, &action);
  eidolon::cli::AddBenchCommand(&app, &action);
  eidolon::cli::AddDoctorCommand(&app, &globals, &action);
  eidolon::cli::net::AddCommands(&app, &action);
  eidolon::cli::values::AddCommands(&app, eidolon::controller::ProgramDirectory().c_str(), &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return action ? action() : 2;
}
