#include "services/cli/commands.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "services/base/error.h"
#include "services/cli/doctor.h"
#include "services/cli/printable.h"
#include "services/cli/target.h"
#include "services/controller/embedded/controller_host.h"

namespace eidolon::cli {

int PrintFailure(const base::Error& error) {
  // It may quote what a job has printed, or what a server answers.
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const std::string message = terminal ? ToPrintable(error.message) : error.message;
  std::fprintf(stderr, "eidolon: %s\n", message.c_str());
  return 1;
}

void AddDoctorCommand(CLI::App* app, const Globals* globals, Action* action) {
  CLI::App* doctor = app->add_subcommand("doctor", "check what this machine needs to run jobs");
  doctor->callback([globals, action] {
    *action = [globals] {
      const auto target = FindTarget(*globals);
      if (!target) return PrintFailure(target.error());
      const auto findings = Examine({.binary_directory = controller::embedded::ProgramDirectory(),
                                     .data_directory = globals->data_directory,
                                     .target = *target});
      std::fputs(FormatFindings(findings).c_str(), stdout);
      return HasBadFinding(findings) ? 1 : 0;
    };
  });
}

}  // namespace eidolon::cli
