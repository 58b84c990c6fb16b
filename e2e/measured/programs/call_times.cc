// Notes when each call of CUDA and its libraries began and ended, in a program that knows nothing
// of it. call_times.py makes a table of what it wrote.
//
//   g++ -O2 -shared -fPIC call_times.cc -o call_times.so
//   CALL_TIMES=FILE LD_PRELOAD=./call_times.so python steps.py --steps 20 --only CASE
//
// FILE.PID then holds a line of JSON (rows, names, nanoseconds of a tick) and the rows themselves.
// Ticks are the processor's; under emulation too, where a clock reading would be virtual.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

namespace {

struct Row {
  std::uint64_t begin, end;
  std::uint64_t first_argument;
  std::uint32_t call, thread;
};

constexpr std::uint32_t kRows = 1u << 23;
constexpr std::size_t kTouched = 3'000'000;  // No page fault falls into a step.
constexpr int kNames = 256;

Row* rows = nullptr;
std::atomic<std::uint32_t> used{0};
std::atomic<int> names_used{0};
const char* names[kNames];
std::uint64_t first_tick = 0;
std::int64_t first_ns = 0;
thread_local std::uint32_t thread = 0;
thread_local bool inside = false;

std::int64_t MonotonicNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void Write() {
  const std::uint32_t count = used < kRows ? used.load() : kRows;
  if (count == 0) return;
  char path[4096];
  std::snprintf(path, sizeof(path), "%s.%d", std::getenv("CALL_TIMES"), getpid());
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return;
  const double tick = static_cast<double>(MonotonicNs() - first_ns) / (__rdtsc() - first_tick);
  std::fprintf(file, "{\"rows\": %u, \"ns_per_tick\": %.9f, \"names\": [", count, tick);
  for (int i = 0; i < names_used; ++i) std::fprintf(file, "%s\"%s\"", i == 0 ? "" : ", ", names[i]);
  std::fputs("]}\n", file);
  std::fwrite(rows, sizeof(Row), count, file);
  std::fclose(file);
}

[[gnu::constructor]] void Start() {
  if (std::getenv("CALL_TIMES") == nullptr) return;
  void* const memory = mmap(nullptr, sizeof(Row) * kRows, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  std::memset(memory, 0, sizeof(Row) * kTouched);
  rows = static_cast<Row*>(memory);
  first_tick = __rdtsc();
  first_ns = MonotonicNs();
  std::atexit(Write);
}

// The library's own function. Python opens libraries for itself alone, so that RTLD_NEXT does not
// find all of them.
void* Find(const char* name) {
  if (void* const found = dlsym(RTLD_NEXT, name)) return found;
  for (const char* library : {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13",
                              "libcudnn.so.9", "libcuda.so.1"}) {
    void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
    if (void* const found = handle == nullptr ? nullptr : dlsym(handle, name)) return found;
  }
  std::fprintf(stderr, "call_times: no library has %s\n", name);
  std::abort();
}

}  // namespace

// Passes on as many words as any of these functions takes, in registers and on the stack.
#define WORDS                                                                                     \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, \
      long m, long n, long o, long p, long q, long r, long s, long t, long u, long v, long w,     \
      long x
#define PASSED a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x
#define CALL(name)                                                                              \
  extern "C" [[gnu::visibility("default")]] long name(WORDS) {                                  \
    static const auto own = reinterpret_cast<long (*)(WORDS)>(Find(#name));                     \
    static const int call = [] {                                                                \
      const int index = names_used++;                                                           \
      names[index] = #name;                                                                     \
      return index;                                                                             \
    }();                                                                                        \
    if (rows == nullptr || inside) return own(PASSED);                                          \
    if (thread == 0) thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));                \
    inside = true;                                                                              \
    const std::uint64_t begin = __rdtsc();                                                      \
    const long result = own(PASSED);                                                            \
    const std::uint64_t end = __rdtsc();                                                        \
    inside = false;                                                                             \
    const std::uint32_t row = used++;                                                           \
    const auto first = static_cast<std::uint64_t>(a);                                           \
    if (row < kRows) rows[row] = {begin, end, first, static_cast<std::uint32_t>(call), thread}; \
    return result;                                                                              \
  }

CALL(__cudaLaunchKernel)
CALL(__cudaPushCallConfiguration)
CALL(__cudaPopCallConfiguration)
CALL(cudaLaunchKernel)
CALL(cudaLaunchKernelExC)
CALL(cudaMemcpyAsync)
CALL(cudaMemsetAsync)
CALL(cudaEventRecord)
CALL(cudaEventRecordWithFlags)
CALL(cudaEventQuery)
CALL(cudaEventSynchronize)
CALL(cudaStreamWaitEvent)
CALL(cudaStreamSynchronize)
CALL(cudaDeviceSynchronize)
CALL(cudaMalloc)
CALL(cudaFree)
CALL(cudaStreamIsCapturing)
CALL(cublasSetStream_v2)
CALL(cublasSetWorkspace_v2)
CALL(cublasSetMathMode)
CALL(cublasGemmEx)
CALL(cublasSgemm_v2)
CALL(cublasGemmStridedBatchedEx)
CALL(cublasSgemmStridedBatched)
CALL(cublasLtMatmul)
CALL(cublasLtMatmulAlgoGetHeuristic)
CALL(cudnnSetStream)
CALL(cudnnBackendExecute)
