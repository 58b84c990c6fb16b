// Identifies the writer of bytes of emulated memory whose values are unknown, so that the report
// can name it: kernels by their readable names, and some that are not kernels.
//
// A small table from pointers to who was last seen to write through them; what is older than some
// thousand pointers is forgotten. Without computed values nobody knows which of its pointers a
// kernel writes through, so whoever was given the pointer last is named.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eidolon::shim::value {

// The number of a name, for as long as the process lives.
using Author = std::uint16_t;
inline constexpr Author kNobody = 0;        // Nobody was seen to write there.
inline constexpr Author kByHost = 1;        // A copy or fill too large to be kept.
inline constexpr Author kByCollective = 2;  // Of large, or of unknown, inputs.
inline constexpr Author kByLibrary = 3;     // A math library's call that has no name of its own.
inline constexpr Author kByOthers = 4;      // Known bytes were there, or all numbers are taken.

// Thread safe. A kernel's name is given mangled.
Author InternAuthor(std::string_view name);
// Returns a title for people: demangled, without result, parameters and what differs from build to
// build.
std::string TitleOf(Author author);
std::string ReadableName(std::string_view mangled);

// Allocation to which an address belongs.
struct Origin {
  Author author = kNobody;
  std::uint32_t pointer = 0;  // Which of the launch's pointers led there, from 0; at most 15.
  std::uint32_t call = 0;     // The author's calls are counted.
  std::uint64_t begin = 0;    // What the pointer held.

  bool operator==(const Origin&) const = default;
};

// Thread safe and without locks.
class AuthorTable {
 public:
  // What allocators give begins at a multiple of it.
  static constexpr std::uint64_t kAlignment = 512;

  AuthorTable() = default;
  AuthorTable(const AuthorTable&) = delete;
  AuthorTable& operator=(const AuthorTable&) = delete;

  // Counts a call of the author.
  std::uint32_t NextCall(Author author) {
    return calls_[author].fetch_add(1, std::memory_order_relaxed) & kCallMask;
  }
  // The author writes through a pointer that holds `begin`.
  void Note(const Origin& origin) {
    const std::uint64_t mixed = Mix(origin.begin);
    const std::uint64_t pointer = origin.pointer < 15 ? origin.pointer : 15;
    entries_[IndexOf(mixed)].store(TagOf(mixed) << 44 | pointer << 40 |
                                       std::uint64_t{origin.author} << 24 |
                                       (origin.call & kCallMask),
                                   std::memory_order_relaxed);
  }
  // Finds the origin by the closest pointer at or before the address, of those that are not too far
  // away.
  Origin Find(std::uint64_t address) const;
  // A copy: the target is by whoever wrote the source.
  void Follow(std::uint64_t target, std::uint64_t source);

 private:
  static constexpr unsigned kIndexBits = 14;
  static constexpr unsigned kTagBits = 20;
  static constexpr std::uint64_t kCallMask = (1 << 24) - 1;

  // The upper bits of the product depend on all bits of the address; each lower bit depends only on
  // the bits of the address up to its own place.
  static std::uint64_t Mix(std::uint64_t address) { return address * 0x9e3779b97f4a7c15u; }
  static std::size_t IndexOf(std::uint64_t mixed) { return mixed >> (64 - kIndexBits); }
  static std::uint64_t TagOf(std::uint64_t mixed) {
    return mixed >> (64 - kIndexBits - kTagBits) & ((std::uint64_t{1} << kTagBits) - 1);
  }
  std::optional<Origin> FindExactly(std::uint64_t address) const;

  // By the first bits of the mixed address: its next 20 bits, which tell addresses of one entry
  // apart, 4 bits of the pointer, 16 of the author, 24 of the call.
  std::array<std::atomic<std::uint64_t>, 1 << kIndexBits> entries_{};
  std::array<std::atomic<std::uint32_t>, 1 << 16> calls_{};
};

}  // namespace eidolon::shim::value
