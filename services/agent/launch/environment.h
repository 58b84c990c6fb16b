// The environment of an emulated server's command: the preloaded shim, the way to the agent, and
// the rendezvous that torchrun and other launchers read, in every usual spelling.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "services/base/error.h"

namespace eidolon::agent::launch {

using Variables = std::vector<std::pair<std::string, std::string>>;

// The shim's libraries as they lie on disk.
struct ShimLibraries {
  std::string core;
  // Libraries to preload: those that must answer before the core, the core, then the facades, by
  // name.
  std::vector<std::string> preload;
  std::string triton_folder;        // Holds a libcuda.so.1.
  std::vector<std::string> folded;  // Preloaded besides into the live ranks of folded jobs.
};

// Finds the libraries in `folder` (what is built as <build>/lib). Fails naming what is missing.
base::Result<ShimLibraries> FindShim(const std::string& folder);

struct ServerPlace {
  std::string run_directory;
  std::string index_directory;  // Where processes share what they learned from GPU code.
  std::uint32_t server = 0;
  std::uint32_t servers = 1;
  std::uint32_t ranks_per_server = 1;
  std::string master_address;
  std::uint32_t master_port = 0;
};

// Variables that the agent adds. `inherited_preload` is the user's own LD_PRELOAD, kept behind
// ours. Requires: shim.preload is not empty.
Variables ServerEnvironment(const ShimLibraries& shim, const ServerPlace& place,
                            const std::string& inherited_preload);

}  // namespace eidolon::agent::launch
