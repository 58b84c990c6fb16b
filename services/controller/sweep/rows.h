// Tabulates the points of a sweep: a row for each, and which of them are worth a look.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::sweep {

// Returns what one point came to. `job` is the document of the job, or its summary.
nlohmann::json RowOf(const SweepPoint& point, const nlohmann::json& job, const SweepSpec& spec,
                     bool replayed);
// Where not all points tell their tokens, rows are compared by iterations: the others' tokens go.
void UseOneUnit(std::vector<nlohmann::json>* rows);
// Does so, and marks with `front` the rows that no other one beats in both throughput and cost
// (without prices: memory head-room).
void MarkFront(std::vector<nlohmann::json>* rows);
// Does so, and puts the fastest first; jobs that have no prediction come last.
void RankRows(std::vector<nlohmann::json>* rows);

// Returns the throughput of a row: tokens for a second where they are known, else iterations; 0
// without a prediction.
double ThroughputOf(const nlohmann::json& row);
bool HasPrediction(const nlohmann::json& row);

}  // namespace eidolon::controller::sweep
