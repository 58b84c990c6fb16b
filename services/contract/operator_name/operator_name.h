// The operator of PyTorch that launches a kernel, found by the kernel's name, so that reports and
// timelines show "aten::gelu" instead of a template that fills three lines.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::operator_name {

// `kernel`: mangled or demangled. "aten::mul" for one of ATen's kernels, "compiled add_mul" for one
// that torch.compile has generated, "AdamW step" for one with a role; empty where none is known, as
// for copies and library calls. Any text is accepted.
//
// Several operators may share a kernel: a copy to another type is aten::copy_, and relu is
// aten::clamp, as ATen implements it. A name is then that of the operator nearest to the kernel.
std::string OperatorOf(std::string_view kernel);

}  // namespace eidolon::operator_name
