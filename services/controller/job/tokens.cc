// A wrong number of tokens is worse than none, so two independent observations have to agree:
// indices looked up in a table, and rows scored against a matrix of the table's size. Every pair of
// a lookup and a size of elements is a candidate. All candidates that fit must give the same
// number, otherwise the result is "unknown" with the reason of the nearest one. Weights stand for
// mirrored ranks of a folded job, and `sharers` divides what tensor-parallel ranks look up
// together, so that their tokens are counted once.
#include "services/controller/job/tokens.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// A program that predicts each token from those before it may leave out one of each sequence when
// it scores. Shorter sequences could be something else.
constexpr double kSequenceMin = 8;

// Table with one size of its elements; of all ranks together.
struct Table {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t row_bytes = 0;
  bool is_compiled = false;  // The lookup is fused with other work: row_bytes are not known.
  double indices = 0;
  double scored = 0;  // Rows of the GEMMs by a matrix of the table's size ...
  double turned = 0;  // ... and by its transpose, as a backward pass has them.
};

bool IsIn(const Table& table, const Lookups& lookups) {
  if (table.is_compiled) return lookups.row_bytes == 0;
  return lookups.table_rows == table.rows && lookups.row_bytes == table.row_bytes;
}

double RowsOf(const std::vector<RankTokens>& ranks, std::uint64_t outputs, std::uint64_t inputs) {
  double sum = 0;
  for (const RankTokens& rank : ranks) {
    for (const GemmRows& gemm : rank.first->gemms) {
      if (gemm.outputs == outputs && gemm.inputs == inputs) {
        sum += rank.weight * static_cast<double>(gemm.rows * gemm.launches);
      }
    }
  }
  return sum;
}

// Where a compiler has fused the lookup, only the elements of all rows together are known. Any
// matrix may be the table then: that each row is scored once tells which, since layers between
// run several times over the same rows, or over others.
std::vector<Table> TablesOfCompiled(double elements, const std::vector<RankTokens>& ranks) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> matrices;
  for (const RankTokens& rank : ranks) {
    for (const GemmRows& gemm : rank.first->gemms) {
      if (gemm.outputs > gemm.inputs) matrices.emplace(gemm.outputs, gemm.inputs);
    }
  }
  std::vector<Table> tables;
  for (const auto& [outputs, inputs] : matrices) {
    if (std::fmod(elements, static_cast<double>(inputs)) != 0) continue;
    Table table{.rows = outputs,
                .columns = inputs,
                .is_compiled = true,
                .indices = elements / static_cast<double>(inputs),
                .scored = RowsOf(ranks, outputs, inputs),
                .turned = RowsOf(ranks, inputs, outputs)};
    if (table.turned > 0) tables.push_back(table);
  }
  return tables;
}

std::vector<Table> TablesOf(const std::vector<RankTokens>& ranks) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> indices;
  for (const RankTokens& rank : ranks) {
    for (const Lookups& lookups : rank.first->lookups) {
      indices[{lookups.table_rows, lookups.row_bytes}] +=
          rank.weight * static_cast<double>(lookups.indices);
    }
  }
  std::vector<Table> tables;
  for (const auto& [key, count] : indices) {
    if (key.second == 0) {
      std::ranges::move(TablesOfCompiled(count, ranks), std::back_inserter(tables));
      continue;
    }
    // Elements are of two or four bytes, which the GEMM's need not be.
    for (const std::uint64_t columns : {key.second / 2, key.second / 4}) {
      tables.push_back({.rows = key.first,
                        .columns = columns,
                        .row_bytes = key.second,
                        .indices = count,
                        .scored = RowsOf(ranks, key.first, columns),
                        .turned = RowsOf(ranks, columns, key.first)});
    }
  }
  return tables;
}

// Rows that are scored for an index each. Where memory is short, scores are computed again for the
// backward pass, and rows are scored twice that go back once.
double ScoredRows(const Table& table) {
  constexpr double kAgain = 2;
  const bool is_again =
      table.turned > 0 && table.scored == kAgain * table.turned && table.indices < table.scored;
  return is_again ? table.turned : table.scored;
}

bool IsScoredOnce(const Table& table) {
  const double left_out = table.indices - ScoredRows(table);
  if (left_out == 0) return true;
  if (left_out < 0 || std::fmod(table.indices, left_out) != 0) return false;
  return table.indices / left_out >= kSequenceMin;
}

// Returns whether the backward pass, if there is one, agrees with the forward pass. It may have
// more rows: where a micro-batch has as many rows as the table, GEMMs of other gradients have the
// same shape.
bool IsTrained(const Table& table) {
  return table.turned == 0 || table.turned >= ScoredRows(table);
}

std::string Whole(double count) { return StrCat(static_cast<std::uint64_t>(std::llround(count))); }

std::string Describe(const Table& table) {
  if (table.is_compiled) {
    return "a compiler has fused the lookup of rows, and no GEMM scores each of them once";
  }
  const std::string looked_up =
      StrCat(Whole(table.indices), " indices are looked up in a table of ", table.rows, " rows");
  if (table.scored == 0) return StrCat(looked_up, ", which no GEMM scores");
  if (!IsScoredOnce(table)) {
    return StrCat(looked_up, ", but ", Whole(table.scored), " rows are scored against it");
  }
  return StrCat(Whole(table.scored), " rows are scored against a table of ", table.rows,
                " rows, but ", Whole(table.turned), " go the way back");
}

// The gradient of the matrix that scores: GEMMs as large, over all rows that were scored.
bool IsMatrixTrained(const Table& table, const std::vector<RankTokens>& ranks) {
  double rows = 0;
  for (const RankTokens& rank : ranks) {
    for (const GemmRows& gemm : rank.first->gemms) {
      if (gemm.outputs != table.columns || gemm.rows != table.rows) continue;
      rows += rank.weight * static_cast<double>(gemm.inputs * gemm.launches);
    }
  }
  // Twice: where there are as many rows as the table has, they go the way back by such GEMMs too.
  return rows == table.scored || rows == 2 * table.scored;
}

// Returns the operations of the lookups in a table.
double ForwardFlops(const Table& table, const TokenWork& work) {
  double sum = 0;
  for (const Lookups& lookups : work.lookups) {
    if (!IsIn(table, lookups)) continue;
    sum += static_cast<double>(lookups.forward_flops);
  }
  return sum;
}

double ModelFlops(const Table& table, const std::vector<RankTokens>& ranks) {
  // Less would mean that not all layers are trained.
  constexpr double kTrainedMin = 2.9;
  constexpr double kTrained = 3;
  if (table.turned < table.scored || !IsMatrixTrained(table, ranks)) return 0;
  double all = 0;
  double forward = 0;
  double first = 0;
  for (const RankTokens& rank : ranks) {
    const TokenWork& work = *rank.first;
    const double passes = ForwardFlops(table, work);
    if (passes == 0 && work.matrix_flops > 0) return 0;
    all += rank.weight * static_cast<double>(work.matrix_flops);
    first += rank.weight * passes;
    for (const TokenWork* iteration : rank.iterations) {
      forward += rank.weight * ForwardFlops(table, *iteration);
    }
  }
  if (all < kTrainedMin * first) return 0;
  return kTrained * forward / static_cast<double>(ranks.front().iterations.size());
}

// Returns the tokens of one iteration; nothing where ranks do not show which of them share their
// tokens.
std::optional<double> TokensOf(const Table& table, const std::vector<RankTokens>& ranks,
                               std::size_t iteration) {
  double tokens = 0;
  for (const RankTokens& rank : ranks) {
    const TokenWork& work = *rank.iterations[iteration];
    for (const Lookups& lookups : work.lookups) {
      if (!IsIn(table, lookups)) continue;
      if (lookups.sharers == 0) return std::nullopt;
      const double rows = static_cast<double>(lookups.indices) /
                          (table.is_compiled ? static_cast<double>(table.columns) : 1);
      tokens += rank.weight * rows / lookups.sharers;
    }
  }
  return tokens;
}

}  // namespace

base::Result<DerivedTokens> DeriveTokens(const std::vector<RankTokens>& ranks) {
  const auto unknown = [](std::string reason) {
    return Fail(ErrorCode::kNotFound, std::move(reason));
  };
  if (ranks.empty()) return unknown("no iteration was measured");
  const std::vector<Table> tables = TablesOf(ranks);
  if (tables.empty())
    return unknown(
        "no launch looks up rows of a table, as an embedding does unless a compiler fuses it");
  const Table* found = nullptr;
  const Table* nearest = &tables.front();
  for (const Table& table : tables) {
    const bool fits = table.scored > 0 && IsScoredOnce(table) && IsTrained(table);
    if (fits && found != nullptr && found->indices != table.indices) {
      return unknown("several tables are looked up and scored");
    }
    if (fits) found = &table;
    if (std::pair(table.scored > 0, table.rows) >= std::pair(nearest->scored > 0, nearest->rows)) {
      nearest = &table;
    }
  }
  if (found == nullptr) return unknown(Describe(*nearest));
  double sum = 0;
  for (std::size_t i = 0; i < ranks.front().iterations.size(); ++i) {
    const std::optional<double> tokens = TokensOf(*found, ranks, i);
    if (!tokens) {
      return unknown(
          "ranks add up numbers between layers in a way that does not tell whose tokens "
          "are the same");
    }
    if (std::abs(*tokens - std::round(*tokens)) > 1e-6) {
      return unknown("ranks that share tokens look up different numbers of them");
    }
    sum += std::round(*tokens);
  }
  return DerivedTokens{.count = sum / static_cast<double>(ranks.front().iterations.size()),
                       .model_flops = ModelFlops(*found, ranks)};
}

}  // namespace eidolon::controller::job
