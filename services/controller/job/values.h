// `values` of a job document: what the host, or small kernels, find where nobody computed anything.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/job/fields.h"

namespace eidolon::controller::job {

// Plausible losses, means and norms, and zero for the rest; or the same for all.
enum class UnknownReads : std::uint8_t { kPlausible, kZero, kOne };

// Every token chooses top_k different experts.
struct ExpertRouting {
  bool gives_counts = false;  // Of tokens per expert, not each token's experts.
  std::uint64_t experts = 0;
  std::uint64_t tokens = 0;  // Of one call of the router in one rank.
  std::uint64_t top_k = 0;
  std::uint64_t seed = 0;
  double zipf_exponent = 0;  // 0: all experts are equal, or the file says.
  std::string file;
};

struct DeclaredValue {
  std::string kernel;                    // Pattern of who wrote the bytes; empty: any.
  std::string line;                      // Of the reader; empty: any.
  std::optional<std::uint32_t> pointer;  // Of the kernel's; none: any.
  std::string type;                      // Of elements.
  double value = 0;
  std::optional<ExpertRouting> routing;  // Instead of the value.
};

struct ValuesSpec {
  UnknownReads unknown_reads = UnknownReads::kPlausible;
  bool compute = true;                  // Small kernels are run for their results.
  std::vector<DeclaredValue> declared;  // Their numbers count from 1.
};

// Problems go where the fields report them.
ValuesSpec ReadValues(Fields* values);

// Returns what people read of each: "values.declared[0] (line train.py:40)".
std::vector<std::string> TitlesOf(const ValuesSpec& values);

}  // namespace eidolon::controller::job
