#include "shim/gpu/stream/stream_attributes.h"

#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "shim/gpu/stream/stream.h"

namespace eidolon::shim::gpu {
namespace {

constexpr int kPriorityAttribute = 8;

using Value = std::array<std::byte, kStreamAttributeBytes>;

struct AttributeTable {
  std::mutex mutex;                                       // Guards the map.
  std::map<std::pair<std::uint64_t, int>, Value> values;  // By unique stream and attribute.
};

AttributeTable& Table() {
  static AttributeTable* const table = new AttributeTable;  // Threads may outlive main.
  return *table;
}

}  // namespace

Status GetStreamAttribute(StreamHandle handle, int attribute, void* value) noexcept {
  const Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (value == nullptr) return Status::kInvalidValue;
  Value found{};
  AttributeTable& table = Table();
  const std::lock_guard guard(table.mutex);
  const auto entry = table.values.find({stream->unique_id, attribute});
  if (entry != table.values.end()) {
    found = entry->second;
  } else if (attribute == kPriorityAttribute) {
    std::memcpy(found.data(), &stream->priority, sizeof(stream->priority));
  }
  std::memcpy(value, found.data(), found.size());
  return Status::kSuccess;
}

Status SetStreamAttribute(StreamHandle handle, int attribute, const void* value) noexcept {
  const Stream* stream = Lookup(handle);
  if (stream == nullptr) return Status::kInvalidHandle;
  if (value == nullptr) return Status::kInvalidValue;
  AttributeTable& table = Table();
  const std::lock_guard guard(table.mutex);
  std::memcpy(table.values[{stream->unique_id, attribute}].data(), value, kStreamAttributeBytes);
  return Status::kSuccess;
}

Status CopyStreamAttributes(StreamHandle target, StreamHandle source) noexcept {
  const Stream* to = Lookup(target);
  const Stream* from = Lookup(source);
  if (to == nullptr || from == nullptr) return Status::kInvalidHandle;
  AttributeTable& table = Table();
  const std::lock_guard guard(table.mutex);
  std::map<std::pair<std::uint64_t, int>, Value> copied;
  for (const auto& [key, value] : table.values) {
    if (key.first == from->unique_id) copied[{to->unique_id, key.second}] = value;
  }
  for (const auto& [key, value] : copied) table.values[key] = value;
  return Status::kSuccess;
}

}  // namespace eidolon::shim::gpu
