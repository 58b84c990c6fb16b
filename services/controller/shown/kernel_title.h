// Names of kernels as a line of a report can hold them.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::controller::shown {

// A demangled function without its result, parameters and namespaces: of "void
// at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int, ...)" the part
// "vectorized_elementwise_kernel<4, FillFunctor<float> >". Of longer ones the beginning and the
// end, which tell most names apart, at most `max` characters of ASCII. Any text is accepted; other
// names come back as they are, as far as they are not too long.
std::string KernelTitle(std::string_view name, std::size_t max);

}  // namespace eidolon::controller::shown
