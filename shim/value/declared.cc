// A declaration names its kernel by a pattern of the readable name, so the authors that write bytes
// are matched once each and the matches are cached by number. A routing is a pure function of
// declaration, rank and the number of the author's call (routing.h): it is drawn when it is first
// needed, and again if the bytes were lost, with the same numbers. It is written in pieces of the
// largest write that the store keeps, or a large vector would be forgotten as it is put there. The
// mutex guards caches and uses only; drawing and writing happen outside of it.
#include "shim/value/declared.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "services/base/text.h"
#include "shim/value/routing.h"

namespace eidolon::shim::value {
namespace {

using ring::Declaration;
using ring::DeclarationKind;
using ring::ElementType;

constinit std::atomic<bool> has_uses{false};

constexpr std::size_t kLongestFile = 64 << 20;

// Round to nearest even; 10 bits of fraction or 7, 5 bits of exponent or 8.
// `exponent_max` is the bias. A carry out of the fraction moves into the exponent by itself, as
// both are added as one number.
std::uint16_t ToNarrow(double number, int fraction_bits, int exponent_max) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  const double size = std::fabs(number);
  const auto infinity = static_cast<std::uint16_t>((2 * exponent_max + 1) << fraction_bits);
  if (std::isnan(number)) return infinity | 1;
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  exponent = std::max(exponent - 1, 1 - exponent_max);
  // Sub-normals have the smallest exponent, whose fraction goes on below one.
  const double scaled = std::nearbyint(std::ldexp(size, fraction_bits - exponent));
  const double bits = scaled + std::ldexp(exponent + exponent_max - 1, fraction_bits);
  if (!(bits < infinity)) return sign | infinity;
  return sign | static_cast<std::uint16_t>(bits);
}

template <typename Integer>
Integer ToInteger(double number) {
  constexpr auto kLow = std::numeric_limits<Integer>::min();
  constexpr auto kHigh = std::numeric_limits<Integer>::max();
  if (std::isnan(number)) return 0;
  if (number <= static_cast<double>(kLow)) return kLow;
  if (number >= static_cast<double>(kHigh)) return kHigh;
  return static_cast<Integer>(number);
}

template <typename T>
std::vector<unsigned char> Bytes(T value) {
  std::vector<unsigned char> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::string ReadWhole(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return text;
  std::array<char, 65536> part;
  for (std::size_t got = 0; (got = std::fread(part.data(), 1, part.size(), file)) > 0;) {
    if (text.size() > kLongestFile) break;
    text.append(part.data(), got);
  }
  std::fclose(file);
  return text;
}

std::vector<Declaration> ReadOwn() {
  const char* folder = std::getenv("EIDOLON_RUN_DIR");
  if (folder == nullptr) return {};
  return ring::ParseDeclarations(
      ReadWhole(std::string(folder) + "/" + std::string(ring::kDeclarationsFile)));
}

std::uint64_t OwnRank() {
  const char* text = std::getenv("RANK");
  const auto rank = base::ParseInteger(text == nullptr ? "" : text);
  return rank && *rank > 0 ? static_cast<std::uint64_t>(*rank) : 0;
}

template <typename Number>
std::vector<unsigned char> Pack(const std::vector<Number>& numbers, ElementType type) {
  std::vector<unsigned char> bytes;
  bytes.reserve(numbers.size() * ring::BytesOf(type));
  for (const Number number : numbers) {
    const auto one = BytesOfNumber(static_cast<double>(number), type);
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}

std::uint64_t VectorBytes(const Declaration& routing) {
  const bool counts = routing.kind == DeclarationKind::kCounts;
  return (counts ? routing.experts : routing.tokens * routing.top_k) * ring::BytesOf(routing.type);
}

}  // namespace

bool FitsPattern(std::string_view name, std::string_view pattern) {
  if (pattern.find_first_of("*?") == std::string_view::npos) {
    return name.find(pattern) != std::string_view::npos;
  }
  std::size_t n = 0;
  std::size_t p = 0;
  std::optional<std::size_t> star;  // Where to go on after the last one,
  std::size_t tried = 0;            // and what it takes of the name ends here.
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = ++p;
      tried = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star) {
      p = *star;
      n = ++tried;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool FitsLine(std::string_view line, std::string_view pattern) {
  if (pattern.empty() || !line.ends_with(pattern)) return false;
  return line.size() == pattern.size() || line[line.size() - pattern.size() - 1] == '/';
}

std::vector<unsigned char> BytesOfNumber(double number, ElementType type) {
  switch (type) {
    case ElementType::kFloat16:
      return Bytes(ToNarrow(number, 10, 15));
    case ElementType::kBfloat16:
      return Bytes(ToNarrow(number, 7, 127));
    case ElementType::kFloat32:
      return Bytes(static_cast<float>(number));
    case ElementType::kFloat64:
      return Bytes(number);
    case ElementType::kInt8:
      return Bytes(ToInteger<std::int8_t>(number));
    case ElementType::kUint8:
      return Bytes(ToInteger<std::uint8_t>(number));
    case ElementType::kInt16:
      return Bytes(ToInteger<std::int16_t>(number));
    case ElementType::kInt32:
      return Bytes(ToInteger<std::int32_t>(number));
    case ElementType::kInt64:
      return Bytes(ToInteger<std::int64_t>(number));
    case ElementType::kBool:
      return Bytes(static_cast<std::uint8_t>(number != 0));
  }
  return Bytes(static_cast<float>(number));
}

bool FillUnknown(const Declaration& declaration, const Store& store, std::uint64_t address,
                 unsigned char* host, std::size_t size) {
  const std::vector<unsigned char> element = BytesOfNumber(declaration.value, declaration.type);
  if (size % element.size() != 0) return false;
  const bool some_known = store.HasKnown(address, address + size);
  for (std::size_t at = 0; at < size; at += element.size()) {
    if (some_known && store.IsKnown(address + at, element.size())) continue;
    std::memcpy(host + at, element.data(), element.size());
  }
  return true;
}

std::string Describe(const Declaration& declaration) {
  if (declaration.kind == DeclarationKind::kValue) {
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "%.9g", declaration.value);
    return std::string(ring::NameOf(declaration.type)) + " " + number.data();
  }
  const bool counts = declaration.kind == DeclarationKind::kCounts;
  return base::StrCat(counts ? "token counts of " : "routing to ", declaration.experts, " experts");
}

Declared::Declared(std::vector<Declaration> declarations, std::uint64_t rank)
    : declarations_(std::move(declarations)), rank_(rank) {
  for (const Declaration& one : declarations_) {
    needs_lines_ = needs_lines_ || !one.line.empty();
    has_routing_ = has_routing_ || one.kind != DeclarationKind::kValue;
    has_values_ = has_values_ || one.kind == DeclarationKind::kValue;
  }
}

const std::vector<std::size_t>& Declared::CandidatesOf(Author author) {
  const auto [found, added] = candidates_.try_emplace(author);
  if (added) {
    const std::string title = TitleOf(author);
    for (std::size_t i = 0; i < declarations_.size(); ++i) {
      const std::string& pattern = declarations_[i].kernel;
      if (pattern.empty() || FitsPattern(title, pattern)) found->second.push_back(i);
    }
  }
  return found->second;
}

const Declaration* Declared::FindValue(const Origin& origin, std::string_view line) {
  const std::lock_guard guard(mutex_);
  for (const std::size_t i : CandidatesOf(origin.author)) {
    const Declaration& one = declarations_[i];
    if (one.kind != DeclarationKind::kValue) continue;
    if (one.pointer >= 0 && static_cast<std::uint32_t>(one.pointer) != origin.pointer) continue;
    if (one.line.empty() || FitsLine(line, one.line)) return &one;
  }
  return nullptr;
}

bool Declared::Provide(Store& store, std::uint64_t address) {
  if (!has_routing_) return false;
  const Origin origin = store.authors().Find(address);
  if (origin.author == kNobody) return false;
  const Declaration* routing = nullptr;
  {
    const std::lock_guard guard(mutex_);
    for (const std::size_t i : CandidatesOf(origin.author)) {
      const Declaration& one = declarations_[i];
      if (one.kind == DeclarationKind::kValue) continue;
      if (one.pointer >= 0 && static_cast<std::uint32_t>(one.pointer) != origin.pointer) continue;
      if (address - origin.begin >= VectorBytes(one)) continue;
      routing = &one;
      if (used_.insert(i).second) {
        uses_.push_back({&one, origin.author, origin.pointer});
        has_uses.store(true, std::memory_order_relaxed);
      }
      break;
    }
  }
  if (routing == nullptr) return false;
  const RoutingDraw draw{.rank = rank_, .call = origin.call};
  const std::vector<unsigned char> bytes = routing->kind == DeclarationKind::kCounts
                                               ? Pack(DrawCounts(*routing, draw), routing->type)
                                               : Pack(DrawIndices(*routing, draw), routing->type);
  for (std::size_t at = 0; at < bytes.size(); at += Store::kLargestKeptWrite) {
    store.Write(origin.begin + at, bytes.data() + at,
                std::min(Store::kLargestKeptWrite, bytes.size() - at));
  }
  return true;
}

std::vector<Declared::Use> Declared::TakeUses() {
  if (!has_routing_) return {};
  const std::lock_guard guard(mutex_);
  has_uses.store(false, std::memory_order_relaxed);
  return std::exchange(uses_, {});
}

bool HasDeclaredUses() { return has_uses.load(std::memory_order_relaxed); }

Declared& ProcessDeclared() {
  // Never destroyed: threads may outlive main.
  static auto* const declared = new Declared(ReadOwn(), OwnRank());
  return *declared;
}

}  // namespace eidolon::shim::value
