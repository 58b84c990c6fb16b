// A mangled function name taken apart: what the recognisers look at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/torch_layout/type_name.h"

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

using torch_layout::SplitTopLevel;
using torch_layout::TemplateArguments;

}  // namespace eidolon::timing::kernel
