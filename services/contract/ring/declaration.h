// Values that a job declares: what the host, or a small kernel, finds where nobody computed
// anything. The agent writes them as text into the run directory before ranks start; a rank reads
// them when it first meets unknown bytes.
//
//   <run directory>/values, fields separated by tabs, one declaration a line:
//     value    NUMBER TYPE POINTER KERNEL LINE AMOUNT
//     counts   NUMBER TYPE POINTER KERNEL LINE EXPERTS TOKENS TOP_K SEED
//     indices  NUMBER TYPE POINTER KERNEL LINE EXPERTS TOKENS TOP_K SEED
//     shares   WEIGHT...         of the declaration above, one for each expert; a line for each of
//                                the router's calls, over and over; none: all experts are equal
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::ring {

inline constexpr std::string_view kDeclarationsFile = "values";
inline constexpr std::uint64_t kExpertsMax = 4096;
// Limit of the vector that one call of a router gives.
inline constexpr std::uint64_t kRoutedElementsMax = 4 << 20;
inline constexpr std::size_t kShareRowsMax = 4096;

enum class DeclarationKind { kValue, kCounts, kIndices };

enum class ElementType {
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kUint8,
  kInt16,
  kInt32,
  kInt64,
  kBool
};
std::size_t BytesOf(ElementType type);
std::string_view NameOf(ElementType type);  // "float32".
std::optional<ElementType> ElementTypeOf(std::string_view name);

struct Declaration {
  DeclarationKind kind = DeclarationKind::kValue;
  std::uint32_t number = 0;  // In the job's list, from 1; 0 is none.
  ElementType type = ElementType::kFloat32;
  std::int32_t pointer = -1;  // Of the kernel's pointers, from 0; -1: any.
  std::string kernel;         // Glob, or a part of the readable name; empty: any writer.
  std::string line;           // "router.py:120", the end of a path; empty: any.
  double value = 0;           // kValue.
  // The others: tokens choose top_k of the experts each.
  std::uint64_t experts = 0;
  std::uint64_t tokens = 0;
  std::uint64_t top_k = 0;
  std::uint64_t seed = 0;
  std::vector<std::vector<std::uint32_t>> shares;
};

// Requires: no tab or newline in the texts.
std::string PrintDeclarations(std::span<const Declaration> declarations);
// Any text is taken; lines that are none of these are left out.
std::vector<Declaration> ParseDeclarations(std::string_view text);

}  // namespace eidolon::ring
