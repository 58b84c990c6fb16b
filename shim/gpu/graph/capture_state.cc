#include "shim/gpu/graph/capture_state.h"

#include <atomic>
#include <cstring>
#include <memory>

#include "services/contract/workload/work.h"

namespace eidolon::shim::gpu {
namespace {

constinit std::mutex mutex;
constinit std::atomic<std::uint32_t> active{0};

std::vector<Capture*>& Running() {
  static auto* const running = new std::vector<Capture*>;
  return *running;
}

// Events name the capture that recorded them, for as long as they live: captures are kept.
std::vector<std::unique_ptr<Capture>>& Kept() {
  static auto* const kept = new std::vector<std::unique_ptr<Capture>>;
  return *kept;
}

}  // namespace

std::mutex& CaptureMutex() noexcept { return mutex; }

std::uint32_t ActiveCaptures() noexcept { return active.load(std::memory_order_acquire); }

Capture* NewCapture() {
  static std::uint64_t next_id = 1;
  Capture* capture = Kept().emplace_back(std::make_unique<Capture>()).get();
  capture->id = next_id++;
  Running().push_back(capture);
  active.store(static_cast<std::uint32_t>(Running().size()), std::memory_order_release);
  return capture;
}

void FinishCapture(Capture& capture) {
  for (auto& [stream, tails] : capture.tails) {
    stream->capture.store(nullptr, std::memory_order_release);
  }
  capture.active = false;
  capture.tails.clear();
  capture.marks.clear();
  capture.owned.reset();
  capture.graph = nullptr;
  std::erase(Running(), &capture);
  active.store(static_cast<std::uint32_t>(Running().size()), std::memory_order_release);
}

void ForEachCapture(const std::function<void(Capture&)>& visit) {
  for (Capture* capture : Running()) visit(*capture);
}

NodeType TypeOfWork(std::span<const std::byte> definition) noexcept {
  workload::WorkHeader header{};
  if (definition.size() >= sizeof(header)) {
    std::memcpy(&header, definition.data(), sizeof(header));
  }
  switch (header.kind) {
    case workload::WorkKind::kCopy:
      return NodeType::kMemcpy;
    case workload::WorkKind::kMemset:
      return NodeType::kMemset;
    default:
      return NodeType::kKernel;
  }
}

}  // namespace eidolon::shim::gpu
