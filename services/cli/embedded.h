// The embedded mode: controller, timing and network services in this process. Agents reach them
// through Unix sockets, which are this user's alone.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "services/base/error.h"
#include "services/cli/target.h"
#include "services/controller/embedded/controller_host.h"
#include "services/timing/count_flags.h"
#include "services/timing/gpu_flags.h"

namespace eidolon::cli {

struct EmbeddedOptions {
  // The addresses of the services are filled in.
  controller::embedded::ControllerHostOptions controller;
  std::string gpu_models;  // Folder with the user's GPU model files.
  std::string profile;     // SQLite file of measured durations.
  timing::GpuFlags own_gpu;
  timing::CountFlags counting;
};

// Owns all services. The destructor interrupts what runs.
class Embedded {
 public:
  static base::Result<std::unique_ptr<Embedded>> Start(const EmbeddedOptions& options);
  ~Embedded();

  // "host:port" of REST; empty without TCP.
  const std::string& address() const;
  // Returns how commands of this user reach REST: over its Unix socket or else by address and
  // token.
  Target target() const;
  // Returns what REST asks for; empty without authentication.
  const std::string& token() const;
  // The status page for a browser, with a code that opens it once.
  std::string MakeLink();
  // Returns whether work is measured on a GPU here.
  bool owns_gpu() const;
  // Interrupts running jobs and waits for their agents; ends streams. The error tells which results
  // could not be stored. `before_rest_ends` is called when jobs have their last status; REST still
  // answers then.
  base::Result<void> Stop(const std::function<void()>& before_rest_ends = {});

 private:
  struct Parts;
  explicit Embedded(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace eidolon::cli
