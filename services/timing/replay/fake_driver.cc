// A CUDA driver for tests of replay: a library of its own that keeps the rules a real driver keeps
// (mapped memory, captures, sticky errors) and goes wrong where it is told to.
//
//   EIDOLON_FAKE_DRIVER="CALL:N:FAULT[,...]"  at the N-th call of CALL (1: the first), FAULT is
//       an error number, "hang", "die" (the process ends) or "move" (another address is given)
//
// The GPU has compute capability 9.0 (its first number: EIDOLON_FAKE_COMPUTE_MAJOR). A launch lasts
// 3 ms (EIDOLON_FAKE_LAUNCH_MS), a memset of 1 MiB 1 us; between two events lie 0.25 ms more. What
// the host does after waiting comes 0.5 ms late. A launch whose parameters point outside of mapped
// memory faults, and every later call with it.
#include <cuda.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#define EIDOLON_FAKE extern "C" __attribute__((visibility("default"))) CUresult

namespace {

constexpr std::uint64_t kMemoryBytes = std::uint64_t{8} << 30;
constexpr std::uint64_t kGranule = 2 << 20;
constexpr double kMemsetMsPerMib = 1e-3, kEventMs = 0.25, kLateMs = 0.5;
constexpr std::uint64_t kStagedBytes = 64 << 10;
constexpr std::uint64_t kPointersBegin = 0x600000000000, kPointersEnd = 0x800000000000;

struct State {
  std::map<std::string, int> calls;
  std::uint64_t used = 0, next_address = 0x100000000000, next_handle = 1;
  std::map<std::uint64_t, std::uint64_t> reserved, mapped, handles, allocated;
  bool context = false, capturing = false, faulted = false;
  double now_ms = 0;
  std::map<CUevent, double> events;
  std::set<const void*> pinned;
  int streams = 0;  // That exist.
};

int ComputeMajor() {
  const char* text = std::getenv("EIDOLON_FAKE_COMPUTE_MAJOR");
  return text == nullptr ? 9 : std::atoi(text);
}

double LaunchMs() {
  const char* text = std::getenv("EIDOLON_FAKE_LAUNCH_MS");
  return text == nullptr ? 3 : std::atof(text);
}

State& All() {
  static auto* const state = new State;
  return *state;
}

std::string FaultAt(const std::string& call, int number) {
  const char* text = std::getenv("EIDOLON_FAKE_DRIVER");
  std::string script = text == nullptr ? "" : text;
  const std::string wanted = call + ":" + std::to_string(number) + ":";
  script = "," + script + ",";
  const std::size_t at = script.find("," + wanted);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + 1 + wanted.size();
  return script.substr(begin, script.find(',', begin) - begin);
}

// Returns what every call begins with; `moved` when the script says so.
CUresult Enter(const char* call, bool* moved = nullptr) {
  const std::string fault = FaultAt(call, ++All().calls[call]);
  if (fault == "hang") {
    while (true) pause();
  }
  if (fault == "die") _exit(9);
  if (fault == "move" && moved != nullptr) *moved = true;
  const int number = std::atoi(fault.c_str());
  if (number != 0) {
    All().faulted = true;
    return static_cast<CUresult>(number);
  }
  return All().faulted ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}

bool Holds(const std::map<std::uint64_t, std::uint64_t>& ranges, std::uint64_t begin,
           std::uint64_t bytes) {
  auto at = ranges.upper_bound(begin);
  if (at == ranges.begin()) return false;
  --at;
  return begin + bytes <= at->first + at->second;
}

bool IsMemory(std::uint64_t begin, std::uint64_t bytes) {
  return Holds(All().mapped, begin, bytes) || Holds(All().allocated, begin, bytes);
}

}  // namespace

#define EIDOLON_ENTER(call) \
  if (const CUresult entered = Enter(call); entered != CUDA_SUCCESS) return entered

// A program that starts again finds a driver that never failed, and counts from one.
EIDOLON_FAKE cuInit(unsigned) {
  All().calls.clear();
  All().faulted = false;
  EIDOLON_ENTER("cuInit");
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDriverGetVersion(int* version) {
  *version = 13020;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceGetCount(int* count) {
  EIDOLON_ENTER("cuDeviceGetCount");
  *count = 1;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceGet(CUdevice* device, int index) {
  *device = index;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, "NVIDIA H100 80GB HBM3", static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice) {
  std::memset(uuid->bytes, 0x1f, sizeof(uuid->bytes));
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) {
  *bytes = kMemoryBytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  const std::map<CUdevice_attribute, int> values = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ComputeMajor()},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1'980'000}};
  const auto found = values.find(attribute);
  *value = found == values.end() ? 0 : found->second;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  EIDOLON_ENTER("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<CUcontext>(1);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuCtxSetCurrent(CUcontext context) {
  All().context = context != nullptr;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  EIDOLON_ENTER("cuMemGetInfo_v2");
  *free = kMemoryBytes - All().used;
  *total = kMemoryBytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  EIDOLON_ENTER("cuMemAlloc_v2");
  State& all = All();
  if (!all.context) return CUDA_ERROR_INVALID_CONTEXT;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (all.used + bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  all.used += bytes;
  *pointer = all.next_address;
  all.allocated[*pointer] = bytes;
  all.next_address += (bytes + kGranule) / kGranule * kGranule;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemFree_v2(CUdeviceptr pointer) {
  All().used -= All().allocated[pointer];
  return All().allocated.erase(pointer) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  EIDOLON_ENTER("cuMemHostAlloc");
  *pointer = std::malloc(bytes);
  All().pinned.insert(*pointer);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemFreeHost(void* pointer) {
  All().pinned.erase(pointer);
  std::free(pointer);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemAddressReserve(CUdeviceptr* pointer, std::size_t bytes, std::size_t,
                                 CUdeviceptr wanted, unsigned long long) {
  bool moved = false;
  if (const CUresult entered = Enter("cuMemAddressReserve", &moved); entered != CUDA_SUCCESS) {
    return entered;
  }
  State& all = All();
  if (bytes % kGranule != 0 || wanted % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  *pointer = moved ? all.next_address : wanted;
  if (moved) all.next_address += bytes;
  all.reserved[*pointer] = bytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemAddressFree(CUdeviceptr pointer, std::size_t bytes) {
  const bool known = All().reserved.contains(pointer) && All().reserved[pointer] == bytes;
  if (!known || All().mapped.contains(pointer)) return CUDA_ERROR_INVALID_VALUE;
  All().reserved.erase(pointer);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                         const CUmemAllocationProp*, unsigned long long) {
  EIDOLON_ENTER("cuMemCreate");
  if (bytes % kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  if (All().used + bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = All().next_handle++;
  All().handles[*handle] = bytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemRelease(CUmemGenericAllocationHandle handle) {
  return All().handles.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemMap(CUdeviceptr pointer, std::size_t bytes, std::size_t,
                      CUmemGenericAllocationHandle handle, unsigned long long) {
  EIDOLON_ENTER("cuMemMap");
  State& all = All();
  if (!Holds(all.reserved, pointer, bytes) || all.handles[handle] != bytes) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  all.used += bytes;
  all.mapped[pointer] = bytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemUnmap(CUdeviceptr pointer, std::size_t bytes) {
  if (All().mapped[pointer] != bytes) return CUDA_ERROR_INVALID_VALUE;
  All().mapped.erase(pointer);
  All().used -= bytes;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuMemSetAccess(CUdeviceptr pointer, std::size_t bytes, const CUmemAccessDesc*,
                            std::size_t) {
  EIDOLON_ENTER("cuMemSetAccess");
  return Holds(All().mapped, pointer, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemsetD8Async(CUdeviceptr pointer, unsigned char, std::size_t bytes, CUstream) {
  EIDOLON_ENTER("cuMemsetD8Async");
  if (!IsMemory(pointer, bytes)) return CUDA_ERROR_INVALID_VALUE;
  All().now_ms += kMemsetMsPerMib * static_cast<double>(bytes >> 20);
  return CUDA_SUCCESS;
}
// A copy from or to `host`, which the call waits for when that is pageable and `waits`.
CUresult MoveWithHost(const void* host, bool waits) {
  const bool pageable = !All().pinned.contains(host);
  if (pageable && All().capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  All().now_ms += LaunchMs() + (pageable && waits ? kLateMs : 0);
  return CUDA_SUCCESS;
}

EIDOLON_FAKE cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  EIDOLON_ENTER("cuMemcpyHtoDAsync_v2");
  if (const CUresult moved = MoveWithHost(from, bytes > kStagedBytes); moved != CUDA_SUCCESS) {
    return moved;
  }
  return IsMemory(to, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  EIDOLON_ENTER("cuMemcpyDtoHAsync_v2");
  if (const CUresult moved = MoveWithHost(to, true); moved != CUDA_SUCCESS) return moved;
  return IsMemory(from, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  All().now_ms += LaunchMs();
  const bool good = IsMemory(to, bytes) && IsMemory(from, bytes);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream) {
  EIDOLON_ENTER("cuMemcpy2DAsync_v2");
  const bool to_host = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
  if (to_host || copy->srcMemoryType == CU_MEMORYTYPE_HOST) {
    const bool waits = to_host || copy->WidthInBytes * copy->Height > kStagedBytes;
    const CUresult moved = MoveWithHost(to_host ? copy->dstHost : copy->srcHost, waits);
    if (moved != CUDA_SUCCESS) return moved;
  } else {
    All().now_ms += LaunchMs();
  }
  const auto holds = [&](CUmemorytype type, CUdeviceptr device, const void* host,
                         std::size_t pitch) {
    if (pitch < copy->WidthInBytes) return false;
    const std::size_t bytes = pitch * (copy->Height - 1) + copy->WidthInBytes;
    return type == CU_MEMORYTYPE_HOST ? host != nullptr : IsMemory(device, bytes);
  };
  const bool good = holds(copy->srcMemoryType, copy->srcDevice, copy->srcHost, copy->srcPitch) &&
                    holds(copy->dstMemoryType, copy->dstDevice, copy->dstHost, copy->dstPitch);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EIDOLON_FAKE cuMemsetD2D8Async(CUdeviceptr pointer, std::size_t pitch, unsigned char,
                               std::size_t width, std::size_t height, CUstream) {
  EIDOLON_ENTER("cuMemsetD2D8Async");
  if (pitch < width || !IsMemory(pointer, pitch * (height - 1) + width)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  All().now_ms += kMemsetMsPerMib * static_cast<double>((width * height) >> 20);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuModuleLoadData(CUmodule* module, const void* code) {
  EIDOLON_ENTER("cuModuleLoadData");
  const bool good = std::strncmp(static_cast<const char*>(code), "module", 6) == 0;
  *module = reinterpret_cast<CUmodule>(2);
  return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
EIDOLON_FAKE cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
EIDOLON_FAKE cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  EIDOLON_ENTER("cuModuleGetFunction");
  *function = reinterpret_cast<CUfunction>(3);
  return std::strcmp(name, "absent") == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}
EIDOLON_FAKE cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) {
  EIDOLON_ENTER("cuFuncSetAttribute");
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuLaunchKernelEx(const CUlaunchConfig*, CUfunction, void**, void** extra) {
  EIDOLON_ENTER("cuLaunchKernelEx");
  if (extra[0] != CU_LAUNCH_PARAM_BUFFER_POINTER) return CUDA_ERROR_INVALID_VALUE;
  const auto* words = static_cast<const char*>(extra[1]);
  const std::size_t bytes = *static_cast<const std::size_t*>(extra[3]);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, words + at, 8);
    const bool points = word >= kPointersBegin && word < kPointersEnd;
    if (points && !IsMemory(word, 1)) All().faulted = true;
  }
  All().now_ms += LaunchMs();
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(4);
  ++All().streams;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuStreamDestroy_v2(CUstream) {
  --All().streams;
  return CUDA_SUCCESS;
}
// For tests: how many streams there are.
extern "C" __attribute__((visibility("default"))) int EidolonFakeStreams() { return All().streams; }
EIDOLON_FAKE cuStreamSynchronize(CUstream) {
  EIDOLON_ENTER("cuStreamSynchronize");
  if (All().capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  All().now_ms += kLateMs;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode) {
  EIDOLON_ENTER("cuStreamBeginCapture_v2");
  All().capturing = true;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuStreamEndCapture(CUstream, CUgraph* graph) {
  EIDOLON_ENTER("cuStreamEndCapture");
  if (!All().capturing) return CUDA_ERROR_ILLEGAL_STATE;
  All().capturing = false;
  *graph = reinterpret_cast<CUgraph>(5);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(All().next_handle++);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuEventDestroy_v2(CUevent) { return CUDA_SUCCESS; }
EIDOLON_FAKE cuEventRecordWithFlags(CUevent event, CUstream, unsigned) {
  All().events[event] = All().now_ms;
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuEventElapsedTime_v2(float* time, CUevent begin, CUevent end) {
  EIDOLON_ENTER("cuEventElapsedTime_v2");
  *time = static_cast<float>(All().events[end] - All().events[begin] + kEventMs);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph, unsigned long long) {
  *exec = reinterpret_cast<CUgraphExec>(6);
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuGraphLaunch(CUgraphExec, CUstream) {
  EIDOLON_ENTER("cuGraphLaunch");
  return CUDA_SUCCESS;
}
EIDOLON_FAKE cuGraphExecDestroy(CUgraphExec) { return CUDA_SUCCESS; }
EIDOLON_FAKE cuGraphDestroy(CUgraph) { return CUDA_SUCCESS; }
