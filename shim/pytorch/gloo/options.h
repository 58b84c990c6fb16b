// Gloo's arguments of collectives, as its headers declare them: what they hold has not moved from
// Gloo of 2022 to that of PyTorch 2.15. Only read here. Who reads them checks that sizes fit each
// other, so that a layout which has changed is refused instead of misread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace eidolon::shim::gloo {

// gloo::Context: no virtual functions; first of all, its place.
struct Context {
  const std::int32_t rank;
  const std::int32_t size;
};

// gloo::transport::UnboundBuffer: where a collective reads or writes.
class Buffer {
 public:
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  virtual ~Buffer() = default;

  void* const data;
  const std::size_t bytes;

 protected:
  Buffer(void* memory, std::size_t size) : data(memory), bytes(size) {}
};
using BufferPointer = std::unique_ptr<Buffer>;
// Output, two inputs, how many elements.
using Reduction = std::function<void(void*, const void*, const void*, std::size_t)>;

struct AllGatherOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;
  BufferPointer out;
  std::size_t element_bytes;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};
// gloo::alltoall takes the same.
using AllToAllOptions = AllGatherOptions;

struct AllGathervOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;
  BufferPointer out;
  std::vector<std::size_t> elements;  // By rank.
  std::size_t element_bytes;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

struct AllToAllvOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;
  BufferPointer out;
  // Offsets in bytes, by rank.
  std::vector<std::size_t> in_offset;
  std::vector<std::size_t> in_length;
  std::vector<std::size_t> out_offset;
  std::vector<std::size_t> out_length;
  std::size_t element_bytes;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

struct AllReduceOptions {
  std::shared_ptr<Context> context;
  std::int64_t timeout_ms;
  std::int32_t algorithm;
  std::vector<BufferPointer> in;  // Empty: `out` is read as well.
  std::vector<BufferPointer> out;
  std::size_t elements;
  std::size_t element_bytes;
  Reduction reduce;
  std::uint32_t tag;
};

struct ReduceOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;
  BufferPointer out;
  std::size_t elements;
  std::size_t element_bytes;
  std::int32_t root;
  Reduction reduce;
  std::uint32_t tag;
  std::size_t segment_bytes_max;
  std::int64_t timeout_ms;
};

struct BroadcastOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;  // Of the root, and there only if it is not `out`.
  BufferPointer out;
  std::size_t elements;
  std::size_t element_bytes;
  std::int32_t root;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

struct GatherOptions {
  std::shared_ptr<Context> context;
  BufferPointer in;
  BufferPointer out;  // Of the root.
  std::size_t element_bytes;
  std::int32_t root;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

struct ScatterOptions {
  std::shared_ptr<Context> context;
  std::vector<BufferPointer> in;  // Of the root, one for each rank.
  BufferPointer out;
  std::size_t element_bytes;
  std::int32_t root;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

struct BarrierOptions {
  std::shared_ptr<Context> context;
  BufferPointer buffer;
  std::uint32_t tag;
  std::int64_t timeout_ms;
};

}  // namespace eidolon::shim::gloo
