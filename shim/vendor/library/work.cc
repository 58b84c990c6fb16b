// A library call has a cost and an effect, which take different ways. The cost is a definition
// (name, type, counted operations and bytes, and the numbers that tell calls apart) that equal
// calls share, so its bytes must be the same whenever the work is. The effect is on the value
// store: now, or at every replay if the stream is captured, so it must capture all that it needs by
// value.
//
// The author of unknown bytes is the name of the routine that wrote them last on this thread. A
// call that writes without Submit has to set it with NameWriter, or its bytes are blamed on the
// call before.
#include "shim/vendor/library/work.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "shim/gpu/memory/arena.h"
#include "shim/gpu/stream/capture_hooks.h"
#include "shim/gpu/stream/stream.h"
#include "shim/value/compute/trace.h"
#include "shim/value/pending.h"

namespace eidolon::shim::library {

namespace {

// Names are literals; one that is cut still tells the library.
struct WriterName {
  char bytes[48];
  std::uint8_t size;
};
// Set by every library call: initial-exec makes it one access, without a call into the loader.
[[gnu::tls_model("initial-exec")]] constinit thread_local WriterName writer{};

value::Author Writer() {
  if (writer.size == 0) return value::kByLibrary;
  return value::InternAuthor({writer.bytes, writer.size});
}

}  // namespace

void NameWriter(std::string_view name) noexcept {
  writer.size = static_cast<std::uint8_t>(std::min(name.size(), sizeof(writer.bytes)));
  std::memcpy(writer.bytes, name.data(), writer.size);
}

gpu::Status Submit(gpu::StreamHandle stream, const Call& call) noexcept {
  NameWriter(call.name);
  workload::Library work{};
  const std::size_t number_bytes = call.numbers.size() * sizeof(std::int64_t);
  const std::size_t bytes = sizeof(work) + call.name.size() + number_bytes;
  work.header = {workload::WorkKind::kLibrary, static_cast<std::uint32_t>(bytes)};
  work.flops = call.flops;
  work.memory_bytes = call.memory_bytes;
  work.type = call.type;
  work.name_bytes = static_cast<std::uint32_t>(call.name.size());
  work.number_count = static_cast<std::uint32_t>(call.numbers.size());

  std::byte definition[512];
  if (bytes > sizeof(definition)) return gpu::Status::kInvalidValue;
  std::memcpy(definition, &work, sizeof(work));
  std::memcpy(definition + sizeof(work), call.name.data(), call.name.size());
  std::memcpy(definition + sizeof(work) + call.name.size(), call.numbers.begin(), number_bytes);
  return gpu::Submit(stream, {definition, bytes});
}

gpu::Status Submit(gpu::StreamHandle stream, workload::Gemm work) noexcept {
  NameWriter("cublas.gemm");
  return gpu::Submit(stream, std::as_bytes(std::span(&work, 1)));
}

void AfterWork(gpu::StreamHandle stream, std::function<void()> effect) noexcept {
  if (!gpu::IsCapturing(stream)) return effect();
  if (gpu::Stream* captured = gpu::Lookup(stream)) {
    gpu::CaptureReplay(*captured, std::move(effect));
  }
}

void NoteWritten(gpu::StreamHandle stream, const void* address, std::uint64_t bytes) noexcept {
  if (address == nullptr || bytes == 0) return;
  compute::TraceLibrary(bytes);
  const auto begin = reinterpret_cast<std::uint64_t>(address);
  const value::Author author = Writer();
  if (!gpu::IsCapturing(stream)) return value::ProcessPending().Forget(begin, bytes, author);
  AfterWork(stream, [=] { value::ProcessPending().Forget(begin, bytes, author); });
}

void NoteWrittenAnywhere(gpu::StreamHandle stream) noexcept {
  compute::TraceLibrary(0);
  AfterWork(stream, [] { value::ProcessPending().MakeStale(gpu::kArenaBegin, gpu::kArenaEnd); });
}

void NoteZeroed(gpu::StreamHandle stream, void* address, std::uint64_t bytes) noexcept {
  if (address == nullptr || bytes == 0) return;
  AfterWork(stream, [=] {
    value::ProcessPending().Fill(reinterpret_cast<std::uint64_t>(address), 0, 1, bytes);
  });
}

}  // namespace eidolon::shim::library
