#include "services/timing/kernel/kernel_name.h"

#include "services/base/demangle.h"

namespace eidolon::timing::kernel {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)::";

void Remove(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

int Depth(char c) {
  if (c == '(' || c == '<' || c == '[' || c == '{') return 1;
  if (c == ')' || c == '>' || c == ']' || c == '}') return -1;
  return 0;
}

// Where the bracket closed at `close` opens; npos when it does not.
std::size_t Opening(std::string_view text, std::size_t close) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == '>' && i > 0 && text[i - 1] == '-') continue;  // An arrow.
    depth += Depth(text[i]);
    if (depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

KernelName ParseKernelName(std::string_view mangled) {
  KernelName name;
  name.full = base::Demangle(mangled).value_or(std::string(mangled.substr(0, base::kMangledMax)));
  Remove(name.full, kAnonymous);
  std::string_view head = name.full;
  if (head.ends_with(')')) {
    const std::size_t open = Opening(head, head.size() - 1);
    if (open != std::string_view::npos && open > 0) {
      name.parameters = SplitTopLevel(head.substr(open + 1, head.size() - open - 2));
      head = head.substr(0, open);
    }
  }
  if (head.ends_with('>')) {
    const std::size_t open = Opening(head, head.size() - 1);
    if (open != std::string_view::npos) {
      name.templates = SplitTopLevel(head.substr(open + 1, head.size() - open - 2));
      head = head.substr(0, open);
    }
  }
  if (head.starts_with("void ")) head.remove_prefix(5);
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    depth += Depth(head[i]);
    if (depth == 0 && head[i] == ':') start = i + 1;
  }
  name.base = std::string(head.substr(start));
  return name;
}

}  // namespace eidolon::timing::kernel
