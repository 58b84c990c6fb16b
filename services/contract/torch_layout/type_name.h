// Types as they stand in demangled names of kernels.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::torch_layout {

// Bytes of an element of a C++ type ("c10::BFloat16", "long", "at::native::OpaqueType<16u>"; const
// and pointers are ignored); nothing for unknown types.
std::optional<double> ElementBytes(std::string_view type);

// The parts of `list` between commas that stand outside of brackets: "a<b, c>, d" gives two.
std::vector<std::string> SplitTopLevel(std::string_view list);

// The text between the brackets of the first "word<" in `text`, brackets inside it balanced; empty
// when there is none.
std::string_view TemplateArguments(std::string_view text, std::string_view word);

}  // namespace eidolon::torch_layout
