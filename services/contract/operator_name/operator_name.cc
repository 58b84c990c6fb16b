#include "services/contract/operator_name/operator_name.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace eidolon::operator_name {
namespace {

struct Entry {
  std::string_view word;
  std::string_view name;
};

#define OPERATOR(word, name) Entry{word, name},
#define ROLE(word, name) Entry{word, name},
constexpr auto kEntries = std::to_array<Entry>({
#include "services/contract/operator_name/operators.inc"
});
#undef OPERATOR
#undef ROLE

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns whether all parts of a pattern, between stars, occur one behind the other.
bool Occurs(std::string_view pattern, std::string_view kernel) {
  while (true) {
    const std::size_t star = pattern.find('*');
    const std::string_view part = pattern.substr(0, star);
    const std::size_t at = kernel.find(part);
    if (at == kernel.npos) return false;
    if (star == pattern.npos) return true;
    kernel.remove_prefix(at + part.size());
    pattern.remove_prefix(star + 1);
  }
}

// "triton_poi_fused_add_mul_0": of pointwise, reduction, persistent, mixed, template and foreach
// kernels what they fuse.
std::string OfCompiled(std::string_view kernel) {
  constexpr std::string_view kPrefix = "triton_";
  constexpr std::string_view kFused = "_fused_";
  if (!kernel.starts_with(kPrefix)) return "";
  const std::size_t fused = kernel.find(kFused);
  if (fused == kernel.npos || fused > kPrefix.size() + 4) return "";
  std::string_view parts = kernel.substr(fused + kFused.size());
  while (!parts.empty() && IsDigit(parts.back())) parts.remove_suffix(1);
  while (!parts.empty() && parts.back() == '_') parts.remove_suffix(1);
  while (!parts.empty() && parts.front() == '_') parts.remove_prefix(1);
  return parts.empty() ? "" : "compiled " + std::string(parts);
}

// ATen's element-wise kernels are lambdas in a function that is named for its operator:
// "at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}".
std::string OfFunction(std::string_view kernel) {
  constexpr std::string_view kIterator = "(at::TensorIterator";
  const std::size_t end = kernel.find(kIterator);
  if (end == kernel.npos) return "";
  std::size_t begin = end;
  while (begin > 0 && IsWord(kernel[begin - 1])) --begin;
  std::string_view function = kernel.substr(begin, end - begin);
  for (const std::string_view suffix :
       {"_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel"}) {
    if (!function.ends_with(suffix)) continue;
    function.remove_suffix(suffix.size());
    const bool is_plain = std::ranges::none_of(
        function, [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; });
    return function.empty() || !is_plain ? "" : "aten::" + std::string(function);
  }
  return "";
}

}  // namespace

std::string OperatorOf(std::string_view kernel) {
  if (std::string compiled = OfCompiled(kernel); !compiled.empty()) return compiled;
  for (const Entry& entry : kEntries) {
    if (Occurs(entry.word, kernel)) return std::string(entry.name);
  }
  return OfFunction(kernel);
}

}  // namespace eidolon::operator_name
