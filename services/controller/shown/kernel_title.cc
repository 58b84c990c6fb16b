#include "services/controller/shown/kernel_title.h"

#include <cctype>

#include "services/controller/shown/document_fields.h"

namespace eidolon::controller::shown {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)::";

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Returns the name up to the parameters, which begin at the first bracket that stands in no
// template argument.
std::string_view WithoutParameters(std::string_view name) {
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>' && (i == 0 || name[i - 1] != '-')) --depth;
    if (name[i] == '(' && depth == 0 && i > 0) return name.substr(0, i);
  }
  return name;
}

std::string WithoutNamespaces(std::string_view name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!name.substr(i).starts_with("::")) {
      text += name[i];
      continue;
    }
    ++i;
    while (!text.empty() && IsWord(text.back())) text.pop_back();
  }
  return text;
}

}  // namespace

std::string KernelTitle(std::string_view name, std::size_t max) {
  std::string title(name);
  const bool is_operator = name.starts_with("aten::");
  const bool is_function =
      !is_operator && (name.find("::") != name.npos || name.starts_with("void "));
  if (is_function) {
    for (std::size_t at; (at = title.find(kAnonymous)) != title.npos;) {
      title.erase(at, kAnonymous.size());
    }
    std::string_view function = WithoutParameters(title);
    if (function.starts_with("void ")) function.remove_prefix(5);
    title = WithoutNamespaces(function);
  }
  if (title.size() <= max) return title;
  // Names are ASCII as a rule; where one is not, its beginning is cut between characters.
  for (const char c : title) {
    if (static_cast<unsigned char>(c) >= 0x80) return Beginning(title, max - 3) + "...";
  }
  const std::size_t tail = max / 3;
  return title.substr(0, max - tail - 3) + "..." + title.substr(title.size() - tail);
}

}  // namespace eidolon::controller::shown
