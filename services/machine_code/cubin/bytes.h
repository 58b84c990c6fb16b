// Bounds-checked reading of little-endian structures from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace eidolon::cubin {

using Bytes = std::span<const std::byte>;

// The plain struct at `offset`, or nothing when it does not lie inside.
template <typename T>
std::optional<T> ReadAt(Bytes bytes, std::uint64_t offset) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// [offset, offset + size), or nothing when it does not lie inside.
inline std::optional<Bytes> Slice(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The NUL-terminated text at `offset`; empty when it does not end inside.
inline std::string_view TextAt(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = AsText(bytes.subspan(offset));
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

}  // namespace eidolon::cubin
