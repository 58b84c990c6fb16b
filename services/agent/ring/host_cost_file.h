// The memory in which ranks of a server tell each other what their host work costs
// (services/contract/ring/shared_host_costs.h). The agent makes it and never looks into it.
#pragma once

#include <string>

#include "services/base/error.h"

namespace eidolon::agent::ring {

// Owns the memory file, whose size is sealed, and the link <run directory>/host.costs by which
// processes find it. Movable. Not thread safe.
class HostCostFile {
 public:
  static base::Result<HostCostFile> Create(const std::string& run_directory);
  HostCostFile(HostCostFile&& other) noexcept;
  HostCostFile& operator=(HostCostFile&& other) noexcept;
  ~HostCostFile();

 private:
  explicit HostCostFile(int file) : file_(file) {}
  int file_;
};

}  // namespace eidolon::agent::ring
