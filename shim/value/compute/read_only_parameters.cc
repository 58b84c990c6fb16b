#include "shim/value/compute/read_only_parameters.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "services/base/demangle.h"

namespace eidolon::shim::compute {
namespace {

// The types between the last parentheses, at the text's end.
std::vector<std::string_view> TypesOf(std::string_view demangled) {
  if (!demangled.ends_with(")")) return {};
  std::vector<std::string_view> types;
  std::size_t end = demangled.size() - 1;
  int depth = 0;
  for (std::size_t at = end; at-- > 0;) {
    const char c = demangled[at];
    if (c == ')' || c == '>' || c == '}' || c == ']') ++depth;
    const bool opens = c == '(' || c == '<' || c == '{' || c == '[';
    if (depth == 0 && (c == ',' || c == '(')) {
      std::size_t begin = at + 1;
      while (begin < end && demangled[begin] == ' ') ++begin;
      types.push_back(demangled.substr(begin, end - begin));
      end = at;
      if (c == '(') {
        std::ranges::reverse(types);
        return types;
      }
    } else if (opens && --depth < 0) {
      return {};
    }
  }
  return {};
}

// 0: not a type that is known here.
std::uint32_t BytesOfType(std::string_view type) {
  if (type.ends_with("*")) return 8;
  constexpr std::array<std::pair<std::string_view, std::uint32_t>, 14> kSizes = {
      {{"bool", 1},
       {"char", 1},
       {"signed char", 1},
       {"unsigned char", 1},
       {"short", 2},
       {"unsigned short", 2},
       {"int", 4},
       {"unsigned int", 4},
       {"float", 4},
       {"long", 8},
       {"unsigned long", 8},
       {"long long", 8},
       {"unsigned long long", 8},
       {"double", 8}}};
  const auto found =
      std::ranges::find(kSizes, type, &std::pair<std::string_view, std::uint32_t>::first);
  return found == kSizes.end() ? 0 : found->second;
}

}  // namespace

std::vector<std::uint32_t> ReadOnlyParameters(std::string_view mangled) {
  const std::string demangled = base::Demangle(mangled).value_or("");
  std::vector<std::uint32_t> result;
  std::uint32_t at = 0;
  for (const std::string_view type : TypesOf(demangled)) {
    const std::uint32_t bytes = BytesOfType(type);
    if (bytes == 0) return {};
    at = (at + bytes - 1) / bytes * bytes;
    if (type.ends_with(" const*")) result.push_back(at);
    at += bytes;
  }
  return result;
}

}  // namespace eidolon::shim::compute
