// The state of captures in progress; used by capture.cc only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "shim/gpu/graph/capture_mode.h"
#include "shim/gpu/graph/graph.h"
#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {

// Never freed, because events that were recorded in it keep pointing to it; emptied when it ends.
class Capture {
 public:
  std::uint64_t id = 0;
  CaptureMode mode = CaptureMode::kGlobal;
  bool active = true;
  bool invalidated = false;
  Stream* origin = nullptr;
  std::thread::id thread;
  Graph* graph = nullptr;
  std::unique_ptr<Graph> owned;  // The same, when the capture made it.
  // Holds, for each stream that takes part, the nodes that its next operation depends on.
  std::map<Stream*, std::vector<GraphNode*>> tails;
  // Event::capture_node: what waiting for that record means.
  std::vector<std::vector<GraphNode*>> marks;
};

// Guards all captures and Stream::capture's changes.
std::mutex& CaptureMutex() noexcept;
// Number of captures in progress, without the mutex.
std::uint32_t ActiveCaptures() noexcept;

// Require: CaptureMutex held.
Capture* NewCapture();
// No stream captures any more; the graph is dropped unless it was taken out.
void FinishCapture(Capture& capture);
void ForEachCapture(const std::function<void(Capture&)>& visit);

// The node type that fits a work definition: kernel, copy or memset.
NodeType TypeOfWork(std::span<const std::byte> definition) noexcept;

}  // namespace eidolon::shim::gpu
