// For each stream a capture remembers its last nodes (`tails`), on which the next operation
// depends. Recording an event marks the tails of that moment, and a wait for it adds them to
// another stream's tails, which is how a capture spreads. At the end each stream's tails must lie
// behind the origin's, or work would be lost (IsJoined). Whatever CUDA forbids in a capture
// invalidates it, and the error comes again at its end.
//
// What moves known bytes, or runs on the host, is kept with the node and happens at each replay,
// not now. Work definitions are interned when the node is made, so that a launch is one record. One
// mutex guards all captures; observers are told without it.
#include "shim/gpu/graph/capture.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "shim/core/resource_observer.h"
#include "shim/core/session.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/graph/capture_state.h"
#include "shim/gpu/module/launch_shape.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/event.h"

namespace eidolon::shim::gpu {

namespace {

thread_local CaptureMode thread_mode = CaptureMode::kGlobal;

// The capture's mutex, and the capture of a stream if it is still good.
struct Access {
  explicit Access(Stream& stream) : guard(CaptureMutex()), capture(stream.capture.load()) {}

  Status status() const {
    if (capture == nullptr) return Status::kInvalidValue;
    return capture->invalidated ? Status::kCaptureInvalidated : Status::kSuccess;
  }

  std::lock_guard<std::mutex> guard;
  Capture* capture;
};

// Runs `fill` on a new node behind the stream's last ones.
template <typename Fill>
Status AddNode(Stream& stream, NodeType type, Fill&& fill) noexcept {
  try {
    GraphNode* added = nullptr;
    {
      const Access access(stream);
      if (const Status status = access.status(); status != Status::kSuccess) return status;
      auto& tails = access.capture->tails[&stream];
      GraphNode& node = access.capture->graph->Add(type, tails);
      if (const Status status = fill(node); status != Status::kSuccess) {
        access.capture->graph->nodes.pop_back();
        return status;
      }
      tails.assign(1, &node);
      added = &node;
    }
    TellOfNode(*added);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status Begin(StreamHandle handle, Graph* graph, std::span<GraphNode* const> dependencies,
             CaptureMode mode) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (stream->legacy) return Status::kCaptureUnsupported;
  if (mode > CaptureMode::kRelaxed) return Status::kInvalidValue;
  const bool is_new = graph == nullptr;
  try {
    const Access access(*stream);
    if (access.capture != nullptr) return Status::kIllegalState;
    if (core::Session::Get() == nullptr) return Status::kNoDevice;
    Capture* capture = NewCapture();
    capture->mode = mode;
    capture->origin = stream;
    capture->thread = std::this_thread::get_id();
    if (is_new) {
      capture->owned = std::make_unique<Graph>();
      graph = capture->owned.get();
    }
    capture->graph = graph;
    capture->tails[stream].assign(dependencies.begin(), dependencies.end());
    stream->capture.store(capture, std::memory_order_release);
  } catch (...) {
    return Status::kOutOfMemory;
  }
  if (is_new) {
    core::TellOfResource({.event = core::ResourceEvent::kGraphCreated, .graph = {.graph = graph}});
  }
  return Status::kSuccess;
}

// Of the device: the agent runs a group's sends and receives as one.
std::uint32_t CountOperations(std::span<const ring::CommunicationOp> ops) {
  const auto transfers = std::ranges::count_if(ops, [](const ring::CommunicationOp& op) {
    return op.kind == ring::CommunicationKind::kSend ||
           op.kind == ring::CommunicationKind::kReceive;
  });
  return static_cast<std::uint32_t>(std::ssize(ops) - transfers + (transfers > 0 ? 1 : 0));
}

// Every stream's work must be behind us when the capture ends: its last nodes are dependencies,
// direct or not, of the origin's last ones.
bool IsJoined(const Capture& capture) {
  std::vector<const GraphNode*> open;
  const auto origin = capture.tails.find(capture.origin);
  if (origin != capture.tails.end()) open.assign(origin->second.begin(), origin->second.end());
  std::map<const GraphNode*, bool> reached;
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (std::exchange(reached[node], true)) continue;
    open.insert(open.end(), node->dependencies.begin(), node->dependencies.end());
  }
  return std::ranges::all_of(capture.tails, [&](const auto& entry) {
    return std::ranges::all_of(entry.second,
                               [&](const GraphNode* node) { return reached.contains(node); });
  });
}

}  // namespace

Status BeginCapture(StreamHandle stream, CaptureMode mode) noexcept {
  return Begin(stream, nullptr, {}, mode);
}

Status BeginCaptureToGraph(StreamHandle stream, Graph& graph,
                           std::span<GraphNode* const> dependencies, CaptureMode mode) noexcept {
  for (const GraphNode* node : dependencies) {
    if (!graph.Owns(node)) return Status::kInvalidValue;
  }
  return Begin(stream, &graph, dependencies, mode);
}

Status EndCapture(StreamHandle handle, Graph** graph) noexcept {
  *graph = nullptr;
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  try {
    const Access access(*stream);
    Capture* capture = access.capture;
    if (capture == nullptr) return Status::kIllegalState;
    if (capture->origin != stream) return Status::kCaptureUnmatched;
    if (capture->mode != CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
      return Status::kCaptureWrongThread;
    }
    Status status = capture->invalidated ? Status::kCaptureInvalidated : Status::kSuccess;
    if (status == Status::kSuccess && !IsJoined(*capture)) status = Status::kCaptureUnjoined;
    if (status == Status::kSuccess) *graph = capture->graph;
    if (status == Status::kSuccess) (void)capture->owned.release();
    FinishCapture(*capture);
    return status;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

CaptureMode ExchangeThreadCaptureMode(CaptureMode mode) noexcept {
  return std::exchange(thread_mode, mode);
}

Status GetCaptureInfo(StreamHandle handle, CaptureInfo* info) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  *info = {};
  if (stream->legacy) return CheckLegacyStreamUse(*stream);
  if (stream->capture.load(std::memory_order_acquire) == nullptr) return Status::kSuccess;
  const Access access(*stream);
  if (access.capture == nullptr) return Status::kSuccess;
  info->status = access.capture->invalidated ? CaptureStatus::kInvalidated : CaptureStatus::kActive;
  info->id = access.capture->id;
  if (access.capture->invalidated) return Status::kSuccess;
  const auto& tails = access.capture->tails[stream];
  info->graph = access.capture->graph;
  info->dependencies = tails.data();
  info->dependency_count = tails.size();
  return Status::kSuccess;
}

Status UpdateCaptureDependencies(StreamHandle handle, std::span<GraphNode* const> dependencies,
                                 bool replace) noexcept {
  Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  try {
    const Access access(*stream);
    if (access.capture == nullptr) return Status::kIllegalState;
    if (access.capture->invalidated) return Status::kCaptureInvalidated;
    for (const GraphNode* node : dependencies) {
      if (!access.capture->graph->Owns(node)) return Status::kInvalidValue;
    }
    auto& tails = access.capture->tails[stream];
    if (replace) tails.clear();
    for (GraphNode* node : dependencies) {
      if (std::ranges::find(tails, node) == tails.end()) tails.push_back(node);
    }
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status CaptureKernel(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
                     const LaunchParameters& parameters) noexcept {
  return AddNode(stream, NodeType::kKernel, [&](GraphNode& node) {
    return SetKernelNode(node, kernel, shape, parameters, stream.device);
  });
}

Status CaptureWork(Stream& stream, std::span<const std::byte> definition) noexcept {
  return AddNode(stream, TypeOfWork(definition), [&](GraphNode& node) {
    node.kind = ring::GraphNodeKind::kWork;
    node.id = core::Session::Get()->InternWork(definition);
    return node.id == 0 ? Status::kInvalidValue : Status::kSuccess;
  });
}

Status CaptureCommunication(Stream& stream, std::uint32_t communicator, std::uint32_t group,
                            std::span<const ring::CommunicationOp> ops,
                            std::span<const std::byte> /*payload*/) noexcept {
  // Replays move no payload: what one launch sends, the next may not.
  return AddNode(stream, NodeType::kKernel, [&](GraphNode& node) {
    core::Session& session = *core::Session::Get();
    std::vector<ring::CommunicationOp> fixed(ops.begin(), ops.end());
    for (ring::CommunicationOp& op : fixed) op.payload_bytes = 0;
    node.operations = CountOperations(fixed);
    ring::CommunicationRecord record{};
    record.header.kind = ring::RecordKind::kCommunication;
    record.header.device = RingDevice(stream.device);
    record.stream = stream.id;
    record.communicator = communicator;
    record.op_count = static_cast<std::uint32_t>(fixed.size());
    record.template_id = session.NewId();
    record.group = group;
    const std::span<const std::byte> tail = std::as_bytes(std::span(fixed));
    session.Append(&record.header, sizeof(record), {&tail, 1});
    node.kind = ring::GraphNodeKind::kCommunication;
    node.id = record.template_id;
    return Status::kSuccess;
  });
}

Status CaptureEventRecord(Stream& stream, Event& event, std::uint32_t flags) noexcept {
  constexpr std::uint32_t kExternal = 1;
  if ((flags & kExternal) != 0) {
    return AddNode(stream, NodeType::kEventRecord, [&](GraphNode& node) {
      node.kind = ring::GraphNodeKind::kEventRecord;
      node.id = event.id;
      node.content = EventNode{&event};
      node.on_replay = [&event] { event.recorded.store(true, std::memory_order_release); };
      return Status::kSuccess;
    });
  }
  try {
    const Access access(stream);
    if (const Status status = access.status(); status != Status::kSuccess) return status;
    event.capture_node = access.capture->marks.size();
    access.capture->marks.push_back(access.capture->tails[&stream]);
    event.capture.store(access.capture, std::memory_order_release);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status CaptureWaitEvent(Stream& stream, Event& event, std::uint32_t flags) noexcept {
  constexpr std::uint32_t kExternal = 1;
  if ((flags & kExternal) != 0 && stream.capture.load() != nullptr) {
    return AddNode(stream, NodeType::kWaitEvent, [&](GraphNode& node) {
      node.kind = ring::GraphNodeKind::kEventWait;
      node.id = event.id;
      node.content = EventNode{&event};
      return Status::kSuccess;
    });
  }
  try {
    const Access access(stream);
    Capture* capture = access.capture;
    Capture* from = event.capture.load(std::memory_order_acquire);
    if (from == nullptr) {
      // Work outside the graph cannot be waited for inside.
      if (capture != nullptr) capture->invalidated = true;
      return Status::kCaptureIsolation;
    }
    if (!from->active) return Status::kCapturedEvent;
    if (from->invalidated) return Status::kCaptureInvalidated;
    if (stream.legacy) {
      from->invalidated = true;
      return Status::kCaptureImplicit;
    }
    if (capture != nullptr && capture != from) {
      capture->invalidated = from->invalidated = true;
      return Status::kCaptureMerge;
    }
    auto& tails = from->tails[&stream];
    for (GraphNode* node : from->marks[event.capture_node]) {
      if (std::ranges::find(tails, node) == tails.end()) tails.push_back(node);
    }
    stream.capture.store(from, std::memory_order_release);
    return Status::kSuccess;
  } catch (...) {
    return Status::kOutOfMemory;
  }
}

Status CaptureCallback(Stream& stream, HostFunction function, void* data) noexcept {
  return AddNode(stream, NodeType::kHost, [&](GraphNode& node) {
    node.kind = ring::GraphNodeKind::kHostCallback;
    node.content = HostNode{function, data};
    return Status::kSuccess;
  });
}

Status CaptureChildGraph(Stream& stream, const Graph& graph) noexcept {
  return AddNode(stream, NodeType::kGraph, [&](GraphNode& node) {
    Graph* copy = nullptr;
    const Status status = CloneGraph(graph, &copy);
    if (status == Status::kSuccess) node.Adopt(std::unique_ptr<Graph>(copy));
    return status;
  });
}

Status CaptureMemory(Stream& stream, bool allocates, std::uint64_t address,
                     std::uint64_t bytes) noexcept {
  const NodeType type = allocates ? NodeType::kMemoryAllocate : NodeType::kMemoryFree;
  return AddNode(stream, type, [&](GraphNode& node) {
    node.content = MemoryNode{address, bytes, stream.device};
    return Status::kSuccess;
  });
}

void CaptureReplay(Stream& stream, std::function<void()> on_replay) noexcept {
  const Access access(stream);
  if (access.status() != Status::kSuccess) return;
  const auto& tails = access.capture->tails[&stream];
  if (tails.size() != 1) return;
  std::function<void()>& all = tails.front()->on_replay;
  if (!all) {
    all = std::move(on_replay);
  } else {
    all = [first = std::move(all), second = std::move(on_replay)] {
      first();
      second();
    };
  }
}

void CaptureForgetStream(Stream& stream) noexcept {
  const Access access(stream);
  if (access.capture == nullptr) return;
  access.capture->invalidated = true;
  access.capture->tails.erase(&stream);
  stream.capture.store(nullptr, std::memory_order_release);
  if (access.capture->origin == &stream) FinishCapture(*access.capture);
}

void CaptureForgetEvent(Event& event) noexcept {
  event.capture.store(nullptr, std::memory_order_release);
}

Status CaptureViolation(Stream& stream, Status code) noexcept {
  const Access access(stream);
  if (access.capture != nullptr) access.capture->invalidated = true;
  return code;
}

Status CheckUnsafeCall() noexcept {
  if (ActiveCaptures() == 0 || thread_mode == CaptureMode::kRelaxed) return Status::kSuccess;
  const std::lock_guard guard(CaptureMutex());
  const auto self = std::this_thread::get_id();
  Status status = Status::kSuccess;
  ForEachCapture([&](Capture& capture) {
    const bool own = capture.thread == self && capture.mode != CaptureMode::kRelaxed;
    const bool global = thread_mode == CaptureMode::kGlobal && capture.mode == CaptureMode::kGlobal;
    if (!own && !global) return;
    capture.invalidated = true;
    status = Status::kCaptureUnsupported;
  });
  return status;
}

Status CheckLegacyStreamUse(Stream& stream) noexcept {
  if (!stream.legacy || ActiveCaptures() == 0) return Status::kSuccess;
  const std::lock_guard guard(CaptureMutex());
  Status status = Status::kSuccess;
  ForEachCapture([&](Capture& capture) {
    const bool blocking = std::ranges::any_of(capture.tails, [&](const auto& entry) {
      return !entry.first->non_blocking() && entry.first->device == stream.device;
    });
    if (!blocking) return;
    capture.invalidated = true;
    status = Status::kCaptureImplicit;
  });
  return status;
}

}  // namespace eidolon::shim::gpu
