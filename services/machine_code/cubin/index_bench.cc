// Measures the cost of finding the kernels of a whole library: in the first process that meets it,
// and in later ones, which read what the first has kept. The library is named by the environment
// variable EIDOLON_BENCH_LIBRARY (libtorch_cuda.so).
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "services/base/clock.h"
#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/mapped_library.h"

namespace eidolon::cubin {
namespace {

namespace fs = std::filesystem;

constexpr Capability kDevice = {9, 0};

// A folder for indices, empty at first.
class CacheFolder {
 public:
  CacheFolder() : path_(fs::temp_directory_path().string() + "/eidolon-bench-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~CacheFolder() { fs::remove_all(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::size_t LoadAll(const std::vector<const std::byte*>& containers, const std::string& folder) {
  const IndexCache cache(folder);
  std::size_t kernels = 0;
  for (const std::byte* container : containers) {
    const auto loaded = cache.Load(*FindImage(container), kDevice);
    if (loaded) kernels += (*loaded)->index().functions().size();
  }
  return kernels;
}

void IndexLibrary(benchmark::State& state, bool is_first) {
  const char* path = std::getenv("EIDOLON_BENCH_LIBRARY");
  const MappedLibrary library(path == nullptr ? "" : path);
  const auto containers = library.Containers();
  if (containers.empty()) {
    state.SkipWithError("EIDOLON_BENCH_LIBRARY names no library with device code");
    return;
  }
  std::size_t kernels = 0;
  const base::SystemClock clock;
  const CacheFolder warm;
  LoadAll(containers, warm.path());  // The library's own pages are in memory in both cases.
  for (auto _ : state) {
    const CacheFolder cold;
    const std::int64_t begin = clock.MonotonicNs();
    kernels = LoadAll(containers, is_first ? cold.path() : warm.path());
    state.SetIterationTime(static_cast<double>(clock.MonotonicNs() - begin) * 1e-9);
  }
  state.counters["containers"] = static_cast<double>(containers.size());
  state.counters["kernels"] = static_cast<double>(kernels);
}
BENCHMARK_CAPTURE(IndexLibrary, FirstProcess, true)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(IndexLibrary, LaterProcess, false)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();

}  // namespace
}  // namespace eidolon::cubin
