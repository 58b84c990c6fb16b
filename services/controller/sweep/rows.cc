// The front is the Pareto front of throughput against cost, or, without prices, against memory
// headroom: a row is on it if no other is at least as good in both and better in one. Rows must be
// comparable for that. As soon as one prediction lacks tokens, all are measured in iterations, and
// costs go by 1000 iterations instead of a million tokens. A point that does not fit its memory is
// never on the front. Every pair is compared, which bounded numbers of points allow.
#include "services/controller/sweep/rows.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace eidolon::controller::sweep {

using nlohmann::json;

namespace {

const json& PartAt(const json& tree, std::initializer_list<const char*> path) {
  static const json kNull;
  const json* at = &tree;
  for (const char* key : path) {
    const auto found = at->is_object() ? at->find(key) : at->end();
    if (found == at->end()) return kNull;
    at = &*found;
  }
  return *at;
}

double AmountAt(const json& tree, std::initializer_list<const char*> path) {
  const json& value = PartAt(tree, path);
  return value.is_number() ? value.get<double>() : 0;
}

std::string WordAt(const json& tree, std::initializer_list<const char*> path) {
  const json& value = PartAt(tree, path);
  return value.is_string() ? value.get<std::string>() : "";
}

// The last one that is true, or an empty object.
const json& LastTrue(const json& job) {
  static const json kNone = json::object();
  const json* last = &kNone;
  const json& conditions = PartAt(job, {"status", "conditions"});
  if (!conditions.is_array()) return kNone;
  for (const json& condition : conditions) {
    if (WordAt(condition, {"status"}) == "True") last = &condition;
  }
  return *last;
}

// A row as the front sees it.
struct Merit {
  double throughput = 0;
  double worth = 0;  // The more the better.
  bool counts = false;
};

bool Beats(const Merit& one, const Merit& other) {
  const bool as_good = one.throughput >= other.throughput && one.worth >= other.worth;
  return as_good && (one.throughput > other.throughput || one.worth > other.worth);
}

}  // namespace

double ThroughputOf(const json& row) {
  const double tokens = AmountAt(row, {"tokensPerSecond"});
  return tokens > 0 ? tokens : AmountAt(row, {"iterationsPerSecond"});
}

bool HasPrediction(const json& row) { return AmountAt(row, {"iterationSeconds"}) > 0; }

json RowOf(const SweepPoint& point, const json& job, const SweepSpec& spec, bool replayed) {
  json fields = json::object();
  for (const auto& [path, value] : point) fields[path] = value;
  const json& prediction = PartAt(job, {"status", "prediction"});
  const std::string phase = WordAt(job, {"status", "phase"});
  const json& condition = LastTrue(job);
  json row = {{"name", NameOf(point)},
              {"point", fields},
              {"replayed", replayed},
              {"phase", phase},
              {"reason", WordAt(condition, {"reason"})},
              {"message", WordAt(condition, {"message"})},
              {"wallSeconds", AmountAt(job, {"status", "simulation", "wallSeconds"})}};
  const double steady = AmountAt(prediction, {"steadyIteration", "seconds"});
  const double seconds = steady > 0 ? steady : AmountAt(prediction, {"iterationSeconds", "mean"});
  if (phase != "Complete" || seconds <= 0) return row;
  row["iterationSeconds"] = seconds;
  row["iterationsPerSecond"] = 1 / seconds;
  const double tokens = AmountAt(prediction, {"tokensPerSecond"});
  if (tokens > 0) row["tokensPerSecond"] = tokens;
  row["headroomBytes"] = AmountAt(prediction, {"memory", "capacityBytes"}) -
                         AmountAt(prediction, {"memory", "peakReservedBytes"});
  const json& server = PartAt(prediction, {"target", "cluster", "server"});
  const double gpus =
      AmountAt(prediction, {"target", "servers"}) * AmountAt(server, {"gpusPerServer"});
  row["gpus"] = gpus;
  for (const auto& [gpu, price] : spec.prices) {
    if (gpu != WordAt(server, {"gpu"})) continue;
    row["costPerHour"] = price * gpus;
    // The unit is a million tokens where tokens are known, else a thousand iterations.
    row["costPerUnit"] = price * gpus / 3600 * (tokens > 0 ? 1e6 / tokens : 1e3 * seconds);
  }
  return row;
}

void UseOneUnit(std::vector<json>* rows) {
  const bool all_have_tokens = std::ranges::all_of(*rows, [](const json& row) {
    return !HasPrediction(row) || row.contains("tokensPerSecond");
  });
  if (all_have_tokens) return;
  for (json& row : *rows) {
    if (!HasPrediction(row)) continue;
    row.erase("tokensPerSecond");
    if (row.contains("costPerHour")) {
      row["costPerUnit"] =
          AmountAt(row, {"costPerHour"}) / 3600 * 1e3 * AmountAt(row, {"iterationSeconds"});
    }
  }
}

void MarkFront(std::vector<json>* rows) {
  UseOneUnit(rows);
  const bool priced =
      std::ranges::any_of(*rows, [](const json& row) { return row.contains("costPerUnit"); });
  std::vector<Merit> merits;
  for (const json& row : *rows) {
    const double headroom = AmountAt(row, {"headroomBytes"});
    merits.push_back({.throughput = ThroughputOf(row),
                      .worth = priced ? -AmountAt(row, {"costPerUnit"}) : headroom,
                      .counts = HasPrediction(row) && headroom >= 0 &&
                                (!priced || row.contains("costPerUnit"))});
  }
  for (std::size_t i = 0; i < rows->size(); ++i) {
    (*rows)[i]["front"] = merits[i].counts && std::ranges::none_of(merits, [&](const Merit& other) {
                            return other.counts && Beats(other, merits[i]);
                          });
  }
}

void RankRows(std::vector<json>* rows) {
  UseOneUnit(rows);
  std::ranges::stable_sort(*rows, [](const json& a, const json& b) {
    if (HasPrediction(a) != HasPrediction(b)) return HasPrediction(a);
    return ThroughputOf(a) > ThroughputOf(b);
  });
  MarkFront(rows);
}

}  // namespace eidolon::controller::sweep
