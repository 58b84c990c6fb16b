// Field tables: each struct of a work definition has one (work.h), and the checks of definitions,
// the hash of the layout and the keys of profiles follow from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <tuple>

namespace eidolon::workload {

// Form in which the key that profiles are stored under (timing/kernel/work_key.h) has a field.
enum class Key : std::uint8_t {
  kOther,      // Not, or in a form of its own.
  kShape,      // Always.
  kFlag,       // Always: whether it is set.
  kAlignment,  // By the power of two that divides it, up to 8.
  kSize,       // In keys of whole items only: it scales the size.
  kWhenSet,    // Only when it is set: older profiles do not know the field.
};

// One row: a field's name, where it is, its part of the key, and the largest value that a checked
// definition has.
template <typename Struct, typename T>
struct Field {
  std::string_view name;
  T Struct::*member;
  Key key = Key::kOther;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
};
// A std::tuple of Field<Struct, ...>: all fields in the order of memory, but for the WorkHeader.
template <typename Struct>
inline constexpr auto kFields = std::tuple<>{};

// Bytes that a definition has at least, but for its tail. One of a kind without a tail may lack
// what was added since the first layout.
template <typename Struct>
inline constexpr std::size_t kLeastBytes = sizeof(Struct);

template <typename Struct, typename Visit>
constexpr void ForEachField(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, kFields<Struct>);
}

template <typename Struct, typename T>
constexpr std::size_t BytesOf(const Field<Struct, T>&) {
  return sizeof(T);
}

// Bytes that the table's fields take together.
template <typename Struct>
constexpr std::size_t FieldBytes() {
  std::size_t bytes = 0;
  ForEachField<Struct>([&](const auto& field) { bytes += BytesOf(field); });
  return bytes;
}

// FNV-1a over the names, sizes and bounds of the fields of all these structs.
template <typename... Structs>
constexpr std::uint64_t LayoutHash() {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  const auto add_field = [&](const auto& field) {
    for (const char c : field.name) add(static_cast<unsigned char>(c));
    add(BytesOf(field));
    add(field.most);
  };
  ((ForEachField<Structs>(add_field), add(0)), ...);
  return hash;
}

}  // namespace eidolon::workload
