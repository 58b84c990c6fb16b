// The files of profiles/ and kernel_profiles/ as they lie in the binary, written by
// embed_profiles.cmake.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace eidolon::timing::model {

struct EmbeddedRows {
  std::string_view gpu;
  std::string_view type;  // Of a GEMM's operands, or a family of kernels.
  std::string_view compressed;
};

std::span<const EmbeddedRows> EmbeddedGemmRows();
std::span<const EmbeddedRows> EmbeddedKernelRows();

// The text of a file. Ends the process when it is damaged: it is our own.
std::string Decompress(const EmbeddedRows& file);

}  // namespace eidolon::timing::model
