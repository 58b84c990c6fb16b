#include "services/cli/target.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "services/base/regular_file.h"

namespace eidolon::cli {
namespace {

using base::ErrorCode;
using base::Result;

constexpr char kUsualServer[] = "http://127.0.0.1:8080";

// Returns whether somebody listens there, who is this user or root.
bool Answers(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::copy(path.begin(), path.end(), address.sun_path);
  const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  ucred owner = {};
  socklen_t size = sizeof owner;
  const bool answers =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      getsockopt(probe, SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 &&
      (owner.uid == geteuid() || owner.uid == 0);
  close(probe);
  return answers;
}

// Empty where there is none.
Result<std::string> FirstLine(const std::string& path) {
  auto text = base::ReadRegularFile(path);
  if (text) text->resize(std::min(text->size(), text->find('\n')));
  return text;
}

Result<std::string> FindToken(const Globals& globals) {
  if (!globals.token_file.empty()) {
    auto token = FirstLine(globals.token_file);
    if (!token) return base::Wrap("--token-file", token.error());
    if (!token->empty()) return token;
    return base::Fail(ErrorCode::kInvalidArgument,
                      "--token-file " + globals.token_file + " is empty");
  }
  const char* token = std::getenv("EIDOLON_TOKEN");
  return token == nullptr ? std::string() : std::string(token);
}

}  // namespace

Result<Target> FindTarget(const Globals& globals) {
  auto token = FindToken(globals);
  if (!token) return std::unexpected(token.error());
  const std::string& server = globals.server;
  const std::string socket = globals.data_directory + "/eidolon.sock";
  const std::string own = "http://" + FirstLine(globals.data_directory + "/address").value_or("");
  const bool same = server.empty() || server == own || "http://" + server == own;
  if (same && Answers(socket)) return Target{own, socket, *token};
  return Target{server.empty() ? kUsualServer : server, "", *token};
}

}  // namespace eidolon::cli
