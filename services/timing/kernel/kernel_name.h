// A mangled function name taken apart: what the recognisers look at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::timing::kernel {

struct KernelName {
  std::string full;                     // Demangled, or as given when it does not demangle.
  std::string base;                     // Last part of the qualified name: "reduce_kernel".
  std::vector<std::string> templates;   // Template arguments of the function.
  std::vector<std::string> parameters;  // Parameter types; empty for C functions.

  bool Has(std::string_view text) const { return full.find(text) != std::string::npos; }
};

// Names longer than this are not demangled: they are still recognised by the words in them.
inline constexpr std::size_t kDemangledNameMax = 8192;

// "(anonymous namespace)::" is dropped. Any text is accepted.
KernelName ParseKernelName(std::string_view mangled);

// The parts of `list` between commas that stand outside of brackets: "a<b, c>, d" gives two.
std::vector<std::string> SplitTopLevel(std::string_view list);

// The text between the brackets of the first "word<" in `text`, brackets inside it balanced; empty
// when there is none.
std::string_view TemplateArguments(std::string_view text, std::string_view word);

}  // namespace eidolon::timing::kernel
