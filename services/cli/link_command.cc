// link: opens the page of a running server in a browser, without its token.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "services/cli/client.h"
#include "services/cli/commands.h"
#include "services/cli/target.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;

int PrintLink(const Globals& globals) {
  // Files and pipes may end where other users read them.
  if (isatty(STDOUT_FILENO) != 1) {
    return PrintFailure({ErrorCode::kFailedPrecondition,
                         "'eidolon link' prints a secret, so only into a terminal; scripts get a "
                         "code by POST /api/v1/logins"});
  }
  const auto target = FindTarget(globals);
  if (!target) return PrintFailure(target.error());
  if (target->server == "http://") {
    return PrintFailure({ErrorCode::kFailedPrecondition,
                         "the server of " + globals.data_directory +
                             " has not written its address there; name it with --server"});
  }
  const Client client(*target);
  const auto login = client.SendForJson({.method = "POST",
                                         .path = "/api/v1/logins",
                                         .body = "{}",
                                         .content_type = "application/json"});
  if (!login && login.error().code == ErrorCode::kNotFound) {
    std::printf("%s/\n", client.server().c_str());
    return 0;
  }
  if (!login) return PrintFailure(login.error());
  const std::string code = login->is_object() ? login->value("code", "") : "";
  if (code.empty()) {
    return PrintFailure({ErrorCode::kCorrupt, client.server() + " answered without a code"});
  }
  std::printf("%s/#login=%s\n", client.server().c_str(), code.c_str());
  return 0;
}

}  // namespace

void AddLinkCommand(CLI::App* app, const Globals* globals, Action* action) {
  CLI::App* link = app->add_subcommand(
      "link", "print a link to the page of a running server, which opens it once");
  link->callback([globals, action] { *action = [globals] { return PrintLink(*globals); }; });
}

}  // namespace eidolon::cli
