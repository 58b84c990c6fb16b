// A complete controller: store, agents as local processes, gRPC for agents, REST for users. The
// program eidolon-controller is little more; the `eidolon` command runs it beside the other
// services.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/runtime/pass.h"

namespace prometheus {
class Registry;
}

namespace eidolon::controller {

struct ControllerHostOptions {
  std::string rest_address = "127.0.0.1:8080";  // Port 0 takes a free one.
  std::string grpc_address = "127.0.0.1:0";
  std::string timing_address;
  std::string network_address;
  // Signs passes for both, when they ask for them.
  std::optional<runtime::PassIssuer> pass_issuer;
  std::string data_directory;
  std::string run_root;  // Empty: the default.
  std::string agent;     // Path of eidolon-agent; empty: beside this program.
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
  std::string temporary_directory;  // Goes with this program, also when it is killed; empty: none.
};

// The clock and the registry must outlive it.
class ControllerHost {
 public:
  static base::Result<std::unique_ptr<ControllerHost>> Start(
      const ControllerHostOptions& options, const base::RealClock& clock,
      prometheus::Registry* registry, std::function<std::string()> metrics_text);
  ~ControllerHost();  // Stops.

  // "host:port" of REST.
  const std::string& address() const;
  // Interrupts running jobs, waits for their agents, ends streams. A second call does nothing.
  void Stop();

 private:
  struct Parts;
  explicit ControllerHost(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// $XDG_DATA_HOME/eidolon or ~/.local/share/eidolon.
std::string DefaultDataDirectory();
// The folder this program is in.
std::string ProgramDirectory();

}  // namespace eidolon::controller
