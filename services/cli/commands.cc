// Parsing only chooses an action; main runs it after parsing, so that wrong flags fail before
// anything happens. Flags live in a shared struct that the callbacks own, as they have to outlive
// this function. Messages of errors may quote programs and servers and are made printable for a
// terminal, but not for a file, which should get the bytes. A check of a store reads records with
// secrets, hence its umask: the copies it makes are for their owner alone.
#include "services/cli/commands.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "services/base/error.h"
#include "services/base/standard_output.h"
#include "services/cli/completion.h"
#include "services/cli/doctor.h"
#include "services/cli/doctor_store.h"
#include "services/cli/explain.h"
#include "services/cli/target.h"
#include "services/controller/embedded/controller_host.h"
#include "services/controller/search/schema.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli {

using controller::shown::ToPrintable;

int PrintFailure(const base::Error& error) {
  // It may quote what a job has printed, or what a server answers.
  const bool terminal = isatty(STDERR_FILENO) == 1;
  const std::string message = terminal ? ToPrintable(error.message) : error.message;
  std::fprintf(stderr, "eidolon: %s\n", message.c_str());
  return 1;
}

namespace {

struct DoctorFlags {
  std::optional<std::string> store;  // A data folder; empty: that of --data-dir.
  bool repair = false;
};

int CheckStore(const Globals& globals, const DoctorFlags& flags) {
  umask(077);  // The records have secrets in them.
  const std::string folder = flags.store->empty() ? globals.data_directory : *flags.store;
  const auto findings = controller::store::CheckStore({.folder = folder, .repair = flags.repair});
  if (!findings) return PrintFailure(findings.error());
  base::Print(FormatStoreFindings(*findings));
  if (!HasDamage(*findings)) return 0;
  std::fprintf(stderr,
               "eidolon: %s is damaged; 'eidolon doctor --store %s --repair' moves what is damaged "
               "to %s/damaged and keeps the rest\n",
               folder.c_str(), folder.c_str(), folder.c_str());
  return 1;
}

int CheckMachine(const Globals& globals) {
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  const auto findings = Examine({.binary_directory = controller::embedded::ProgramDirectory(),
                                 .data_directory = globals.data_directory,
                                 .target = *target});
  base::Print(FormatFindings(findings));
  return HasBadFinding(findings) ? 1 : 0;
}

}  // namespace

void AddDoctorCommand(CLI::App* app, const Globals* globals, Action* action) {
  CLI::App* doctor = app->add_subcommand("doctor", "check what this machine needs to run jobs");
  auto flags = std::make_shared<DoctorFlags>();
  CLI::Option* store =
      doctor
          ->add_option_function<std::string>(
              "--store", [flags](const std::string& folder) { flags->store = folder; },
              "check what is stored in a data folder instead (default: that of --data-dir); no "
              "server may use it")
          ->expected(0, 1)
          ->type_name("[DIR]");
  doctor
      ->add_flag("--repair", flags->repair,
                 "move what is damaged to DIR/damaged, build indexes anew, keep the rest")
      ->needs(store);
  doctor->callback([=] {
    *action = [=] { return flags->store ? CheckStore(*globals, *flags) : CheckMachine(*globals); };
  });
}

void AddGuideCommands(CLI::App* app, std::string_view schema, Action* action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      app->add_subcommand("completion", "print a script that completes words in your shell");
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([=] {
    *action = [=] {
      base::Print(CompletionScript(CompletionRowsOf(*app), *shell));
      return 0;
    };
  });

  auto field = std::make_shared<std::string>();
  CLI::App* explain = app->add_subcommand("explain", "say what a field of a document means");
  explain
      ->add_option("field", *field,
                   "such as job, job.spec.iterations, cluster.spec.fabric.preset or search.spec")
      ->required();
  explain->callback([=] {
    *action = [=] {
      // A search is a document of this command alone, so REST does not describe it.
      const bool is_search = *field == "search" || field->starts_with("search.");
      const auto text = Explain(is_search ? controller::search::SearchSchema() : schema, *field);
      if (!text) return PrintFailure(text.error());
      base::Print(*text);
      return 0;
    };
  });
}

}  // namespace eidolon::cli
