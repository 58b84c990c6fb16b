// A complete controller: store, agents as local processes, gRPC for agents, REST for users. The
// program eidolon-controller is little more; the `eidolon` command runs it beside the other
// services.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/controller/embedded/controller_parts.h"
#include "services/runtime/token.h"

namespace prometheus {
class Registry;
}

namespace eidolon::controller::embedded {

struct ControllerHostOptions {
  // "host:port" of REST; port 0 takes a free one; empty: the Unix socket alone.
  std::string rest_address = "127.0.0.1:8080";
  // Address for agents; empty: a Unix socket in a folder of its own.
  std::string grpc_address;
  std::string timing_address;
  std::string network_address;
  // Signs tokens for both, when they ask for them.
  std::optional<runtime::TokenIssuer> token_issuer;
  std::string data_directory;
  std::string run_root;  // Empty: the default.
  std::string agent;     // Path of eidolon-agent; empty: beside this program.
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
  RetentionOptions retention;  // Default: everything is kept.
  // Whoever uses REST shows the token of the data folder, or comes over its Unix socket.
  bool authenticate = true;
  bool rotate_token = false;  // Begins with another token than the last time.
  bool open_metrics = false;  // /metrics needs no token.
  // Given back to agents and their jobs where this process has changed its own.
  std::optional<mode_t> job_umask;
  std::optional<std::uint64_t> job_open_files;  // The soft limit.
  // Path of REST's Unix socket where the data folder's is too long for one; empty: none then.
  std::string spare_socket;
  std::vector<std::string> temporary_folders;  // Go with this program, also when it is killed.
};

// The clock and the registry must outlive it.
class ControllerHost {
 public:
  static base::Result<std::unique_ptr<ControllerHost>> Start(
      const ControllerHostOptions& options, const base::RealClock& clock,
      prometheus::Registry* registry, std::function<std::string()> metrics_text);
  ~ControllerHost();  // Stops.

  // "host:port" of REST; empty without TCP.
  const std::string& address() const;
  // REST's Unix socket; empty: there is none.
  const std::string& socket() const;
  // Returns what REST asks for; empty without authentication.
  const std::string& token() const;
  // The address of the status page for a browser, with a code that opens it once.
  std::string MakeLink();
  // Interrupts running jobs, waits for their agents and, for a bounded time, for what came of them
  // to be stored: the error tells what is lost. Ends streams. A second call does nothing.
  // `before_rest_ends` is called when jobs have their last status; REST still answers then.
  base::Result<void> Stop(const std::function<void()>& before_rest_ends = {});

 private:
  struct Parts;
  explicit ControllerHost(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// $XDG_DATA_HOME/eidolon or ~/.local/share/eidolon.
std::string DefaultDataDirectory();
// The folder this program is in.
std::string ProgramDirectory();

}  // namespace eidolon::controller::embedded
