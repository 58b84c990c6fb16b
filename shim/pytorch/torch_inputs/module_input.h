// Counts the samples and tokens that a program gives to a module of PyTorch, by the sizes of the
// tensors among its arguments.
#pragma once

#include <cstdint>

#include "shim/pytorch/torch_inputs/python_objects.h"

namespace eidolon::shim::torch_inputs {

struct ModuleInput {
  std::uint64_t samples = 0;  // 0: not known.
  std::uint64_t tokens = 0;   // 0: not known to be tokens.
};

// The arguments are the tuple and the dict of a call. Samples are the first dimension that all
// tensors have in common, or the length of a list of images. A module that has its sequences first,
// by what its parts say of themselves (`batch_first`), has unknown samples where its input may be a
// sequence. Tokens are the elements of `input_ids`, as Hugging Face's models name them.
ModuleInput InputOf(const Python& python, void* module, void* arguments, void* named_arguments);

// The field of a module by itself; borrowed, null where it has none.
void* FieldOf(const Python& python, void* module, const char* name);

}  // namespace eidolon::shim::torch_inputs
