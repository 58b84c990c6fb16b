// Copies and memsets of every shape: a definition for the engine, and real bytes for the value
// store. Directions are found from the addresses, as unified addressing does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "services/contract/workload/work.h"
#include "shim/gpu/status.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::gpu {

// `rows` rows of `row_bytes`, in `slices` slices. Pitches are the distances of rows, slice pitches
// those of slices; they do not matter when there is one row or one slice.
struct CopyShape {
  std::size_t row_bytes = 0;
  std::size_t rows = 1;
  std::size_t slices = 1;
  std::size_t target_pitch = 0;
  std::size_t target_slice_pitch = 0;
  std::size_t source_pitch = 0;
  std::size_t source_slice_pitch = 0;
};

// A call that blocks (cudaMemcpy) or one that may return early (cudaMemcpyAsync). Copies that touch
// pageable memory wait in either case where CUDA does.
enum class CopyMode { kBlocking, kAsync };

// A direction the program named; kAny: by the addresses.
enum class CopyDirection { kAny, kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice };

struct CopyRequest {
  void* target = nullptr;
  const void* source = nullptr;
  CopyShape shape{};
  CopyDirection direction = CopyDirection::kAny;
  CopyMode mode = CopyMode::kAsync;
};
Status Copy(const CopyRequest& request, StreamHandle stream) noexcept;

// One row.
Status Copy(void* target, const void* source, std::size_t bytes, CopyMode mode,
            StreamHandle stream) noexcept;

// Sets `rows` rows of `elements` elements. Requires: element_bytes is 1, 2 or 4.
struct FillRequest {
  void* target = nullptr;
  std::uint32_t value = 0;
  std::uint32_t element_bytes = 1;
  std::size_t elements = 0;  // In a row.
  std::size_t rows = 1;
  std::size_t slices = 1;
  std::size_t pitch = 0;
  std::size_t slice_pitch = 0;
};
Status Fill(const FillRequest& request, StreamHandle stream) noexcept;

// The same as work that somebody else puts somewhere, such as into a graph: what the engine is
// told, and what happens to the bytes whenever it runs. Without bytes there is nothing to do.
struct PlannedWork {
  workload::Copy work{};
  std::function<void()> move;
};
Status Plan(const CopyRequest& request, PlannedWork* result) noexcept;
Status Plan(const FillRequest& request, PlannedWork* result) noexcept;

// Moves managed memory to a device (or, with device -1, to the host) ahead of its use: costs what a
// copy of the bytes costs; the bytes themselves stay where they are.
Status Prefetch(const void* pointer, std::size_t bytes, int device, StreamHandle stream) noexcept;

}  // namespace eidolon::shim::gpu
