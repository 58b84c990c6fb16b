// What the name of a table of published kernels says, and the least time of its shapes.
//
//   prefill, decode, encoder KERNEL TYPE CACHE_TYPE HEAD_SIZE WINDOW
//       shapes: heads, heads of keys and values, sequences, length. Prefill: causal, all new.
//       Decode: one new token behind `length` others. Encoder: without a mask.
//   experts KERNEL TYPE DISTRIBUTION
//       shapes: hidden size, inner size, experts a token, experts, ranks that share the inner size,
//       ranks that share the experts, tokens
//   gemm KERNEL TYPE
//       shapes: m, n, k of y[m,n] = x[m,k] w[n,k]^T, quantising x inside
//
// KERNEL is STACK-VERSION:NAME.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace eidolon::timing::model {

struct KernelClass {
  enum class Phase { kPrefill, kDecode, kEncoder, kExperts, kGemm };
  Phase phase = Phase::kPrefill;
  std::string kernel;
  std::string type;          // Of what is multiplied: bf16, fp8, nvfp4, ...
  std::string cache_type;    // Attention: of keys and values.
  std::string distribution;  // Experts: balanced, power_law_1.2, ...
  double head_size = 0;
  double window = 0;  // 0: none.

  bool attention() const { return phase != Phase::kExperts && phase != Phase::kGemm; }
  // Returns which files hold its rows: "attention", "moe" or "gemm".
  std::string_view family() const;
  std::size_t columns() const;
  // The words of a table, in their order.
  std::string Name() const;
};

// Nothing when the words are not those of a class.
std::optional<KernelClass> ParseKernelClass(std::string_view name);

// Limits that kernels of a GPU cannot exceed.
struct KernelRoof {
  double bandwidth = 0;  // Bytes per second.
  double rate = 0;       // Sustained operations per second in BF16; others by their width.
};

// A least time that grows as published times do; their ratio to it is what is interpolated.
// Requires: `sizes` as many as the class has columns, all above zero.
double RoofSeconds(const KernelRoof& roof, const KernelClass& kernel,
                   std::span<const double> sizes);

// Place of a shape among others: logarithms of its sizes, scaled so that equal steps change the
// ratio about equally. As many as the class has dimensions (attention 4, experts 6, GEMMs 3).
struct KernelPlace {
  std::array<double, 7> numbers = {};
  std::size_t dimensions = 0;
};
KernelPlace PlaceOf(const KernelClass& kernel, std::span<const double> sizes);

}  // namespace eidolon::timing::model
