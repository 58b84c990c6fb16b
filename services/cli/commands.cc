#include "services/cli/commands.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "services/base/error.h"
#include "services/cli/doctor.h"
#include "services/controller/controller_host.h"

namespace eidolon::cli {

int PrintFailure(const base::Error& error) {
  std::fprintf(stderr, "eidolon: %s\n", error.message.c_str());
  return 1;
}

void AddDoctorCommand(CLI::App* app, const Globals* globals, Action* action) {
  CLI::App* doctor = app->add_subcommand("doctor", "check what this machine needs to run jobs");
  doctor->callback([globals, action] {
    *action = [globals] {
      const auto findings = Examine({.binary_directory = controller::ProgramDirectory(),
                                     .data_directory = controller::DefaultDataDirectory(),
                                     .server = globals->server});
      std::fputs(FormatFindings(findings).c_str(), stdout);
      return HasBadFinding(findings) ? 1 : 0;
    };
  });
}

}  // namespace eidolon::cli
