// Turns a math library's call into work on a stream: one definition with the problem's numbers, and
// the buffers that it writes forgotten by the value store, because their values are not computed.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string_view>

#include "services/contract/workload/work.h"
#include "shim/gpu/status.h"
#include "shim/gpu/stream/submit.h"

namespace eidolon::shim::library {

// A call that has no definition of its own kind. flops and memory_bytes are counted from the
// arguments.
struct Call {
  std::string_view name;   // Library and routine without the type's prefix: "cublas.gemv".
  std::uint32_t type = 0;  // cudaDataType_t.
  std::uint64_t flops = 0;
  std::uint64_t memory_bytes = 0;
  std::initializer_list<std::int64_t> numbers;  // The sizes that make two calls equal work.
};
gpu::Status Submit(gpu::StreamHandle stream, const Call& call) noexcept;

gpu::Status Submit(gpu::StreamHandle stream, workload::Gemm work) noexcept;

// Registers how the work submitted last on the stream changes known values: now, or at every replay
// of the graph that the stream is captured into.
void AfterWork(gpu::StreamHandle stream, std::function<void()> effect) noexcept;

// The thread's call has this name, wherever it writes unknown values. Both forms of Submit do it.
void NameWriter(std::string_view name) noexcept;

// That work writes unknown values to this device memory. Null is left out.
void NoteWritten(gpu::StreamHandle stream, const void* address, std::uint64_t bytes) noexcept;
// It writes to places that nobody knows.
void NoteWrittenAnywhere(gpu::StreamHandle stream) noexcept;

// The same for values that are known: a status word of a routine that is assumed to succeed.
void NoteZeroed(gpu::StreamHandle stream, void* address, std::uint64_t bytes) noexcept;

}  // namespace eidolon::shim::library
