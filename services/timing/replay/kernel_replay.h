// A kernel again: the module's own code, the same grid, block, cluster, shared memory and
// parameters.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/driver.h"
#include "services/timing/replay/mirror.h"

namespace eidolon::timing::replay {

// Memory that a replay needs beside the work item.
struct KernelMemory {
  std::string parameters;  // The parameter block with its pointers.
  std::vector<MemoryRange> allocations;
  std::string module_file;
};

// Modules that are loaded, the oldest unloaded first. Not thread safe; the driver outlives it.
class Modules {
 public:
  explicit Modules(const Driver& driver) : driver_(driver) {}
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  base::Result<CUmodule> Load(const std::string& file);

 private:
  static constexpr std::size_t kLoadedMax = 64;
  const Driver& driver_;
  std::list<std::pair<std::string, CUmodule>> loaded_;  // Newest first.
};

// The parameter bytes of a launch on the mirror. Refuses a pointer outside of the allocations: the
// emulated rank had it, so nobody knows what is there. Words of the item's blanked block that carry
// the pointer tag are pointers.
base::Result<std::string> PlaceParameters(const kernel::KernelLaunch& launch,
                                          const KernelMemory& memory, const Mirror& mirror);

// A launch that is ready to be repeated. Keeps the parameters.
class KernelCall {
 public:
  static base::Result<std::unique_ptr<KernelCall>> Prepare(const Driver& driver, CUmodule module,
                                                           const kernel::KernelLaunch& launch,
                                                           std::string parameters);
  base::Result<void> Enqueue(CUstream stream);

 private:
  explicit KernelCall(const Driver& driver) : driver_(driver) {}
  const Driver& driver_;
  CUfunction function_ = nullptr;
  CUlaunchConfig config_{};
  std::vector<CUlaunchAttribute> attributes_;
  std::string parameters_;
};

}  // namespace eidolon::timing::replay
