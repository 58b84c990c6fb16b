// A profiler expects the nesting of the real runtime: a launch enters the runtime, enters the
// driver inside it, and leaves in reverse. Here no driver call happens, so its frame is made up
// beside the program's one, with arguments translated and the same correlation. Two frames for each
// thread are enough, because calls that the subscriber's function itself makes are not told
// (is_telling); without that it could be called without end.
//
// The subscriber is copied under the lock and called without it, since it may subscribe or
// unsubscribe. Enabled calls are atomics of their own, so asking for one takes no lock. Argument
// structures are read by the program through CUPTI's generated headers, so their layouts have to
// stay theirs, byte for byte.
#include "shim/vendor/cupti/callbacks.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "shim/core/thread_object.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/graph/graph.h"
#include "shim/gpu/module/host_symbols.h"
#include "shim/gpu/module/module.h"
#include "shim/vendor/cupti/device_record.h"
#include "shim/vendor/cupti/operation_name.h"

namespace eidolon::shim::cupti {
namespace {

constexpr std::size_t kArgumentBytes = 512;  // More than any call has.

// The calls that launch kernels and graphs, and those of the driver behind them. `kernel`: where
// the kernel stands in the parameters.
struct LaunchCall {
  CUpti_CallbackId runtime;
  CUpti_CallbackId driver;
  const char* driver_function;
  std::ptrdiff_t kernel;  // -1: a graph's.
};
constexpr LaunchCall kLaunchCalls[] = {
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
     "cuLaunchKernel", 0},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, "cuLaunchKernel_ptsz", 0},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
     "cuLaunchKernelEx", 8},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, "cuLaunchKernelEx_ptsz", 8},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
     CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 0},
    {CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000,
     CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, "cuLaunchCooperativeKernel_ptsz", 0},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
     "cuGraphLaunch", -1},
    {CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
     CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, "cuGraphLaunch_ptsz", -1},
};

// Parameters as CUPTI's generated_cuda_meta.h and generated_cuda_runtime_api_meta.h have them.
struct RuntimeLaunch {
  const void* function;
  dim3 grid;
  dim3 block;
  void** arguments;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
struct RuntimeExLaunch {
  const cudaLaunchConfig_t* config;
  const void* function;
  void** arguments;
};
struct DriverLaunch {
  CUfunction function;
  unsigned int grid[3];
  unsigned int block[3];
  unsigned int shared_bytes;
  CUstream stream;
  void** arguments;
  void** extra;
};
struct DriverExLaunch {
  const CUlaunchConfig* config;
  CUfunction function;
  void** arguments;
  void** extra;
};

struct alignas(16) Arguments {
  std::array<std::byte, kArgumentBytes> bytes;
};

template <typename T>
T ReadAt(const Arguments& arguments, std::size_t offset) {
  T value;
  std::memcpy(&value, arguments.bytes.data() + offset, sizeof(value));
  return value;
}

// A call of which the subscriber was told that it began.
struct Frame {
  bool is_open = false;
  CUpti_CallbackDomain domain = CUPTI_CB_DOMAIN_INVALID;
  TellableCall call;
  const char* symbol = nullptr;
  std::uint64_t data = 0;  // The subscriber's own, from the beginning to the end of a call.
  Arguments arguments{};
  CUlaunchConfig config{};  // What the arguments of cuLaunchKernelEx point to.
};

struct ThreadFrames {
  Frame program;  // The program's call.
  Frame driver;   // What the runtime calls of the driver in it.
  bool is_telling = false;
};

ThreadFrames& Frames() { return core::ThreadObject<ThreadFrames>(); }

const LaunchCall* FindLaunch(CallbackName name) {
  for (const LaunchCall& launch : kLaunchCalls) {
    if ((name.api == Api::kRuntime && launch.runtime == name.id) ||
        (name.api == Api::kDriver && launch.driver == name.id)) {
      return &launch;
    }
  }
  return nullptr;
}

gpu::Kernel* FindKernel(Api api, const void* function) {
  gpu::Kernel* kernel = nullptr;
  if (api == Api::kRuntime && gpu::FindHostKernel(function, &kernel) == gpu::Status::kSuccess) {
    return kernel;
  }
  return gpu::LookupKernelAt(function);
}

// Returns the symbol of what a library captured; null where it is not known.
const char* SymbolOf(const gpu::GraphNode& node) {
  if (node.kind == ring::GraphNodeKind::kCommunication) return NameOfCaptured();
  if (node.kind != ring::GraphNodeKind::kWork) return nullptr;
  IssuedWork work{};
  work.kind = ring::RecordKind::kLaunch;
  work.subject = node.id;
  const std::span<const std::byte> definition = DefinitionOf(work, {});
  return definition.empty() ? nullptr : NameWork(definition);
}

CUpti_CallbackDomain DomainOf(Api api) {
  return api == Api::kRuntime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
}

// Fills the arguments that the runtime passes on to the driver. A handle of a kernel or a graph is
// its address in both.
void FillDriverArguments(const LaunchCall& launch, const Frame& runtime, gpu::Kernel* kernel,
                         Frame* driver) {
  const auto function = reinterpret_cast<CUfunction>(kernel);
  const Arguments& from = runtime.arguments;
  if (launch.kernel < 0) {
    driver->arguments = from;
  } else if (launch.kernel > 0) {
    const auto given = ReadAt<RuntimeExLaunch>(from, 0);
    driver->config = {};
    if (const cudaLaunchConfig_t* config = given.config; config != nullptr) {
      driver->config.gridDimX = config->gridDim.x;
      driver->config.gridDimY = config->gridDim.y;
      driver->config.gridDimZ = config->gridDim.z;
      driver->config.blockDimX = config->blockDim.x;
      driver->config.blockDimY = config->blockDim.y;
      driver->config.blockDimZ = config->blockDim.z;
      driver->config.sharedMemBytes = static_cast<unsigned int>(config->dynamicSmemBytes);
      driver->config.hStream = config->stream;
      driver->config.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
      driver->config.numAttrs = config->numAttrs;
    }
    const DriverExLaunch made{&driver->config, function, given.arguments, nullptr};
    std::memcpy(driver->arguments.bytes.data(), &made, sizeof(made));
  } else {
    const auto given = ReadAt<RuntimeLaunch>(from, 0);
    const DriverLaunch made{function,
                            {given.grid.x, given.grid.y, given.grid.z},
                            {given.block.x, given.block.y, given.block.z},
                            static_cast<unsigned int>(given.shared_bytes),
                            given.stream,
                            given.arguments,
                            nullptr};
    std::memcpy(driver->arguments.bytes.data(), &made, sizeof(made));
  }
}

}  // namespace

Callbacks& Callbacks::Get() {
  static Callbacks& callbacks = *new Callbacks;  // Never destroyed: threads may outlive main.
  return callbacks;
}

CUpti_SubscriberHandle Callbacks::handle() const {
  return reinterpret_cast<CUpti_SubscriberHandle>(const_cast<Subscriber*>(&subscriber_));
}

bool Callbacks::Subscribe(CUpti_CallbackFunc function, void* user_data) {
  const std::lock_guard lock(mutex_);
  if (is_subscribed_) return false;
  is_subscribed_ = true;
  subscriber_ = {.function = function, .user_data = user_data, .name = {}};
  return true;
}

void Callbacks::SetName(const char* name) {
  const std::lock_guard lock(mutex_);
  subscriber_.name = name == nullptr ? "" : name;
}

std::string Callbacks::name() const {
  const std::lock_guard lock(mutex_);
  return subscriber_.name;
}

bool Callbacks::Unsubscribe(CUpti_SubscriberHandle subscriber) {
  if (!IsSubscriber(subscriber)) return false;
  for (int domain = CUPTI_CB_DOMAIN_INVALID + 1; domain < CUPTI_CB_DOMAIN_SIZE; ++domain) {
    EnableDomain(static_cast<CUpti_CallbackDomain>(domain), false);
  }
  const std::lock_guard lock(mutex_);
  is_subscribed_ = false;
  subscriber_ = {};
  return true;
}

bool Callbacks::IsSubscriber(CUpti_SubscriberHandle subscriber) const {
  const std::lock_guard lock(mutex_);
  return is_subscribed_ && subscriber == handle();
}

Callbacks::Enabled* Callbacks::CallsOf(CUpti_CallbackDomain domain) {
  return domain > CUPTI_CB_DOMAIN_INVALID && domain < CUPTI_CB_DOMAIN_SIZE
             ? &enabled_[static_cast<std::size_t>(domain)]
             : nullptr;
}

CUptiResult Callbacks::Enable(CUpti_CallbackDomain domain, CUpti_CallbackId id, bool enable) {
  Enabled* calls = CallsOf(domain);
  if (calls == nullptr || id == 0 || id >= CallbackCount(domain)) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  if (!IsTold(domain, id)) return CUPTI_ERROR_NOT_SUPPORTED;
  if ((*calls)[id].exchange(enable) != enable) enabled_count_ += enable ? 1 : -1;
  return CUPTI_SUCCESS;
}

void Callbacks::EnableDomain(CUpti_CallbackDomain domain, bool enable) {
  for (CUpti_CallbackId id = 1; id < CallbackCount(domain); ++id) Enable(domain, id, enable);
}

bool Callbacks::IsEnabled(CUpti_CallbackDomain domain, CUpti_CallbackId id) const {
  Enabled* calls = const_cast<Callbacks*>(this)->CallsOf(domain);
  return calls != nullptr && id < kCalls && (*calls)[id].load(std::memory_order_relaxed);
}

namespace {

void Tell(const std::pair<CUpti_CallbackFunc, void*>& to, CUpti_ApiCallbackSite site, Frame* frame,
          void* result) {
  if (to.first == nullptr) return;
  const gpu::Context* context = gpu::CurrentContext();
  CUpti_CallbackData data{};
  data.callbackSite = site;
  data.functionName = frame->call.function;
  data.functionParams = frame->arguments.bytes.data();
  data.functionReturnValue = result;
  data.symbolName = frame->symbol;
  data.context = reinterpret_cast<CUcontext>(const_cast<gpu::Context*>(context));
  data.contextUid =
      context == nullptr ? 0 : ContextNumber(static_cast<std::uint32_t>(context->device));
  data.correlationData = &frame->data;
  data.correlationId = frame->call.correlation;
  ThreadFrames& frames = Frames();
  frames.is_telling = true;  // What the function calls is not told.
  to.first(to.second, frame->domain, frame->call.name.id, &data);
  frames.is_telling = false;
}

void Open(Frame* frame, const TellableCall& call, const char* symbol) {
  frame->is_open = true;
  frame->domain = DomainOf(call.name.api);
  frame->call = call;
  frame->symbol = symbol;
  frame->data = 0;
}

}  // namespace

Callbacks::Function Callbacks::Subscribed() const {
  const std::lock_guard lock(mutex_);
  return {subscriber_.function, subscriber_.user_data};
}

void Callbacks::Began(const TellableCall& call, const core::CallArguments* arguments) noexcept {
  ThreadFrames& frames = Frames();
  if (frames.is_telling) return;
  frames.program.is_open = frames.driver.is_open = false;
  const LaunchCall* launch = FindLaunch(call.name);
  const bool tells_call = IsEnabled(DomainOf(call.name.api), call.name.id);
  const bool tells_driver = launch != nullptr && call.name.api == Api::kRuntime &&
                            IsEnabled(CUPTI_CB_DOMAIN_DRIVER_API, launch->driver);
  if (!tells_call && !tells_driver) return;
  Frame& program = frames.program;
  program.arguments = {};
  if (arguments != nullptr) arguments->write(arguments->self, program.arguments.bytes);
  gpu::Kernel* kernel = nullptr;
  if (launch != nullptr && launch->kernel >= 0) {
    const auto at = static_cast<std::size_t>(launch->kernel);
    kernel = FindKernel(call.name.api, ReadAt<const void*>(program.arguments, at));
  }
  const char* symbol = kernel == nullptr ? call.symbol : kernel->name.c_str();
  const Function to = Subscribed();
  if (tells_call) {
    Open(&program, call, symbol);
    Tell(to, CUPTI_API_ENTER, &program, nullptr);
  }
  if (!tells_driver) return;
  FillDriverArguments(*launch, program, kernel, &frames.driver);
  Open(&frames.driver,
       {.name = {Api::kDriver, launch->driver},
        .function = launch->driver_function,
        .correlation = call.correlation},
       symbol);
  Tell(to, CUPTI_API_ENTER, &frames.driver, nullptr);
}

void Callbacks::Ended(std::uint64_t result) noexcept {
  ThreadFrames& frames = Frames();
  if (frames.is_telling || (!frames.program.is_open && !frames.driver.is_open)) return;
  const Function to = Subscribed();
  if (std::exchange(frames.driver.is_open, false)) {
    CUresult of_driver =
        static_cast<std::uint32_t>(result) == 0 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
    Tell(to, CUPTI_API_EXIT, &frames.driver, &of_driver);
  }
  if (std::exchange(frames.program.is_open, false)) {
    Tell(to, CUPTI_API_EXIT, &frames.program, &result);
  }
}

void Callbacks::Launched(const TellableCall& call) noexcept {
  Began(call, nullptr);
  Ended(0);
}

void Callbacks::TellOf(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                       const void* data) noexcept {
  ThreadFrames& frames = Frames();
  if (frames.is_telling) return;
  const Function to = Subscribed();
  if (to.first == nullptr) return;
  frames.is_telling = true;
  to.first(to.second, domain, id, data);
  frames.is_telling = false;
}

void Callbacks::NvtxCalled(CUpti_CallbackId id, const CUpti_NvtxData& call) noexcept {
  if (IsEnabled(CUPTI_CB_DOMAIN_NVTX, id)) TellOf(CUPTI_CB_DOMAIN_NVTX, id, &call);
}

void Callbacks::ResourceChanged(const core::ResourceChange& change) noexcept {
  const auto id = static_cast<CUpti_CallbackId>(change.event);
  if (!IsEnabled(CUPTI_CB_DOMAIN_RESOURCE, id)) return;
  CUpti_ModuleResourceData module{};
  CUpti_GraphData graph{};
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(change.context);
  data.resourceHandle.stream = static_cast<CUstream>(change.stream);
  if (change.module != 0) {
    module.moduleId = change.module;
    module.cubinSize = change.cubin.size();
    module.pCubin = reinterpret_cast<const char*>(change.cubin.data());
    data.context = reinterpret_cast<CUcontext>(gpu::CurrentContext());
    data.resourceDescriptor = &module;
  } else if (change.event >= core::ResourceEvent::kGraphCreated) {
    const core::GraphObjects& objects = change.graph;
    graph.graph = static_cast<CUgraph>(objects.graph);
    graph.originalGraph = static_cast<CUgraph>(objects.original_graph);
    graph.node = static_cast<CUgraphNode>(objects.node);
    graph.originalNode = static_cast<CUgraphNode>(objects.original_node);
    graph.nodeType = static_cast<CUgraphNodeType>(objects.node_type);
    graph.graphExec = static_cast<CUgraphExec>(objects.exec);
    data.context = reinterpret_cast<CUcontext>(gpu::CurrentContext());
    data.resourceDescriptor = &graph;
  }
  // What a library captures is a launch of the runtime, as what it launches is.
  std::optional<TellableCall> launch;
  if (change.event == core::ResourceEvent::kGraphNodeCreated) {
    if (const auto find = library_launch_.load()) launch = find();
    if (launch) launch->symbol = SymbolOf(*static_cast<const gpu::GraphNode*>(change.graph.node));
  }
  if (launch.has_value()) Began(*launch, nullptr);
  TellOf(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
  if (launch.has_value()) Ended(0);
}

void Callbacks::StreamSynchronized(void* context, void* stream) noexcept {
  constexpr CUpti_CallbackId kId = CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED;
  if (!IsEnabled(CUPTI_CB_DOMAIN_SYNCHRONIZE, kId)) return;
  const CUpti_SynchronizeData data{static_cast<CUcontext>(context), static_cast<CUstream>(stream)};
  TellOf(CUPTI_CB_DOMAIN_SYNCHRONIZE, kId, &data);
}

void Callbacks::ContextSynchronized(void* context) noexcept {
  constexpr CUpti_CallbackId kId = CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
  if (!IsEnabled(CUPTI_CB_DOMAIN_SYNCHRONIZE, kId)) return;
  const CUpti_SynchronizeData data{static_cast<CUcontext>(context), nullptr};
  TellOf(CUPTI_CB_DOMAIN_SYNCHRONIZE, kId, &data);
}

}  // namespace eidolon::shim::cupti
