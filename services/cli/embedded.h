// The embedded mode: controller, timing and network services in this process, on loopback.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "services/base/error.h"

namespace eidolon::cli {

struct EmbeddedOptions {
  std::string listen = "127.0.0.1:8080";  // REST; port 0 takes a free one.
  std::string data_directory;
  std::string run_root;  // Empty: the default.
  std::string agent;     // Path of eidolon-agent; empty: beside this program.
  std::string gpu_models;
  std::string profile;
  std::size_t concurrent_jobs = 1;
  bool keep_run_directories = false;
};

// Owns all services. The destructor interrupts what runs.
class Embedded {
 public:
  static base::Result<std::unique_ptr<Embedded>> Start(const EmbeddedOptions& options);
  ~Embedded();

  // "host:port" of REST.
  const std::string& address() const;
  // Interrupts running jobs and waits for their agents; ends streams. At most once.
  void Stop();

 private:
  struct Parts;
  explicit Embedded(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// $XDG_DATA_HOME/eidolon or ~/.local/share/eidolon.
std::string DefaultDataDirectory();
// The path of a program in the folder of this one.
std::string PathBeside(const std::string& program);

}  // namespace eidolon::cli
