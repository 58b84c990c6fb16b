// The error tables of the cost model against published logs.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "services/network/validation/log_set.h"

namespace eidolon::network::validation {

// Bands of sizes: up to 64 KiB, up to 16 MiB, above.
inline constexpr int kBands = 3;
int BandOf(std::uint64_t bytes);

// Relative errors of modelled times.
struct ErrorSum {
  double absolute = 0;
  double plain = 0;
  int points = 0;

  void Add(double error);
  void Add(const ErrorSum& other);
  double Mean() const { return points > 0 ? absolute / points : 0; }
  double Bias() const { return points > 0 ? plain / points : 0; }
};

struct SetErrors {
  const LogSet* set = nullptr;
  std::array<ErrorSum, kBands> model;
  // Errors with curves fitted to all other logs: those of a model that has not seen this one. The
  // same as `model` for logs that are not fitted.
  std::array<ErrorSum, kBands> left_out;
  std::array<ErrorSum, kBands> table;  // NCCL's own table, before the correction.
};

std::vector<SetErrors> Evaluate(std::span<const LogSet> sets);

// Logs of healthy InfiniBand systems taken together: the held-out ones, or the fitted all-reduce
// logs, each left out in turn.
std::array<ErrorSum, kBands> HeldOutInfiniband(std::span<const SetErrors> errors);
std::array<ErrorSum, kBands> LeftOutInfiniband(std::span<const SetErrors> errors);

// Held-out logs of one server of up to 8 GPUs on NVLink.
std::array<ErrorSum, kBands> HeldOutServers(std::span<const SetErrors> errors);

// Formats Markdown: errors against the targets, one row for each collective and number of GPUs, and
// the digest of FormatRows, by which a change of any row shows.
std::string FormatSummary(std::span<const SetErrors> errors);

// Formats Markdown: one row a set, and one table a set with each measured size.
std::string FormatRows(std::span<const SetErrors> errors);
unsigned long long DigestOfRows(std::span<const SetErrors> errors);

}  // namespace eidolon::network::validation
