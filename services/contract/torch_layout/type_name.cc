// Demangled names are C++ and no grammar of it is needed here: types are compared after qualifiers
// are taken off, and lists are split where no bracket is open. Types of equal width are listed one
// by one, because a wrong width would be worse than an unknown one.
#include "services/contract/torch_layout/type_name.h"

#include <array>
#include <charconv>
#include <utility>

namespace eidolon::torch_layout {
namespace {

std::string_view Strip(std::string_view type) {
  constexpr std::array<std::string_view, 5> kSuffixes = {" const", "*", "&", " ", " __restrict__"};
  bool changed = true;
  while (changed && !type.empty()) {
    changed = false;
    for (const std::string_view suffix : kSuffixes) {
      if (type.ends_with(suffix)) {
        type.remove_suffix(suffix.size());
        changed = true;
      }
    }
    if (type.starts_with("const ")) {
      type.remove_prefix(6);
      changed = true;
    }
  }
  return type;
}

int Depth(char c) {
  if (c == '(' || c == '<' || c == '[' || c == '{') return 1;
  if (c == ')' || c == '>' || c == ']' || c == '}') return -1;
  return 0;
}

}  // namespace

std::optional<double> ElementBytes(std::string_view type) {
  type = Strip(type);
  constexpr std::pair<std::string_view, double> kTypes[] = {{"float", 4},
                                                            {"double", 8},
                                                            {"int", 4},
                                                            {"unsigned int", 4},
                                                            {"long", 8},
                                                            {"unsigned long", 8},
                                                            {"long long", 8},
                                                            {"unsigned long long", 8},
                                                            {"short", 2},
                                                            {"unsigned short", 2},
                                                            {"char", 1},
                                                            {"signed char", 1},
                                                            {"unsigned char", 1},
                                                            {"bool", 1},
                                                            {"c10::Half", 2},
                                                            {"c10::BFloat16", 2},
                                                            {"__half", 2},
                                                            {"__nv_bfloat16", 2},
                                                            {"half", 2},
                                                            {"cutlass::half_t", 2},
                                                            {"cutlass::bfloat16_t", 2},
                                                            {"__nv_fp8_e4m3", 1},
                                                            {"__nv_fp8_e5m2", 1},
                                                            {"c10::quint8", 1},
                                                            {"c10::qint8", 1},
                                                            {"c10::qint32", 4},
                                                            {"c10::complex<float>", 8},
                                                            {"c10::complex<double>", 16},
                                                            {"c10::complex<c10::Half>", 4},
                                                            {"float2", 8},
                                                            {"float4", 16},
                                                            {"uint4", 16},
                                                            {"int4", 16},
                                                            {"c10::Float4_e2m1fn_x2", 1}};
  for (const auto& [name, bytes] : kTypes) {
    if (type == name) return bytes;
  }
  if (type.starts_with("c10::Float8_") || type.starts_with("cutlass::float_e")) return 1;
  const std::size_t opaque = type.find("OpaqueType<");
  if (opaque != std::string_view::npos) {
    std::string_view digits = type.substr(opaque + 11);
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    unsigned bytes = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
    if (error == std::errc{} && end != digits.data()) return bytes;
  }
  return std::nullopt;
}

std::vector<std::string> SplitTopLevel(std::string_view list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t start = 0;
  const auto take = [&](std::size_t end) {
    std::string_view part = list.substr(start, end - start);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
  };
  for (std::size_t i = 0; i < list.size(); ++i) {
    depth += Depth(list[i]);
    if (list[i] != ',' || depth != 0) continue;
    take(i);
    start = i + 1;
  }
  take(list.size());
  return parts;
}

std::string_view TemplateArguments(std::string_view text, std::string_view word) {
  const std::size_t at = text.find(std::string(word) + "<");
  if (at == std::string_view::npos) return {};
  const std::size_t open = at + word.size();
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += Depth(text[i]);
    if (depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

}  // namespace eidolon::torch_layout
