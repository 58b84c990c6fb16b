// A mangled function name taken apart: what the recognisers look at.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/torch_layout/type_name.h"

namespace eidolon::timing::kernel {

struct KernelName {
  // Demangled, or as given when it does not demangle. Of names too long for that as much as
  // base::kMangledMax: they are still recognised by the words in them.
  std::string full;
  std::string base;                     // Last part of the qualified name: "reduce_kernel".
  std::vector<std::string> templates;   // Template arguments of the function.
  std::vector<std::string> parameters;  // Parameter types; empty for C functions.

  bool Has(std::string_view text) const { return full.find(text) != std::string::npos; }
};

// "(anonymous namespace)::" is dropped. Any text is accepted.
KernelName ParseKernelName(std::string_view mangled);

using torch_layout::SplitTopLevel;
using torch_layout::TemplateArguments;

}  // namespace eidolon::timing::kernel
