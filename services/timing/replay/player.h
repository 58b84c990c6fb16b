// Owns one GPU and plays work items on it. What the worker process is made of: it says what GPU it
// has, then measures one item after another.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/convolution_replay.h"
#include "services/timing/replay/copy_replay.h"
#include "services/timing/replay/cudnn.h"
#include "services/timing/replay/driver.h"
#include "services/timing/replay/gemm_replay.h"
#include "services/timing/replay/graph_replay.h"
#include "services/timing/replay/kernel_replay.h"
#include "services/timing/replay/lt_replay.h"
#include "services/timing/replay/mirror.h"
#include "services/timing/replay/stopwatch.h"

namespace eidolon::timing::replay {

struct PlayerOptions {
  std::string driver = "libcuda.so.1";
  std::string gpu = "0";   // Its index, or its UUID: "GPU-...".
  std::string libraries;   // Folder of the math libraries; empty: where the loader looks.
  bool cold_cache = true;  // Work finds nothing of its own in the L2 cache.
};

struct MathLibrary {
  std::string name;     // "cudnn".
  std::string problem;  // Why it cannot be used; empty when it can.
};

struct GpuFacts {
  std::string name;
  std::string uuid;
  std::string cuda;    // As the driver counts: "13.2".
  std::string driver;  // Of the kernel module, "580.82.07"; empty when the system does not tell.
  std::string clocks;
  std::string libraries;  // "cublas 13.4.1, cudnn 9.20.1", or why there are none.
  std::vector<MathLibrary> math_libraries;
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t memory_bytes = 0;
};

struct Played {
  Reading reading;
  bool moved = false;  // Not at the emulated addresses.
};

// One thread: the driver's current context is the thread's. A result of kUnavailable means that
// the GPU, or this process's context on it, is lost; nothing after it can succeed.
class Player {
 public:
  static base::Result<std::unique_ptr<Player>> Open(const PlayerOptions& options);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  const GpuFacts& gpu() const { return gpu_; }
  // `memory` is read for kernels only.
  base::Result<Played> Play(const kernel::WorkItem& item, const KernelMemory& memory);

 private:
  explicit Player(std::unique_ptr<Driver> driver);
  base::Result<CUdevice> FindDevice(const std::string& wanted) const;
  base::Result<void> Start(const PlayerOptions& options);
  base::Result<void> ReadFacts(CUdevice device);
  int Attribute(CUdevice device, CUdevice_attribute attribute) const;
  base::Result<Played> PlayKernel(const kernel::KernelLaunch& launch, const KernelMemory& memory);
  base::Result<Played> PlayGemm(const kernel::Gemm& gemm);
  base::Result<Played> PlayGraph(const kernel::DnnGraph& graph);
  base::Result<Played> PlayCopy(const kernel::Copy& copy);
  void OpenLibraries(const std::string& folder);
  template <typename Library>
  void Note(const char* name, const base::Result<std::unique_ptr<Library>>& library);
  template <typename Call>
  base::Result<Played> Time(Call& call);

  const std::unique_ptr<Driver> driver_;
  GpuFacts gpu_;
  std::unique_ptr<Modules> modules_;
  std::unique_ptr<Mirror> mirror_;
  std::unique_ptr<Stopwatch> watch_;
  base::Result<std::unique_ptr<Cublas>> cublas_;  // Or why there is none.
  base::Result<std::unique_ptr<CublasLt>> cublas_lt_;
  base::Result<std::unique_ptr<Cudnn>> cudnn_;
};

}  // namespace eidolon::timing::replay
