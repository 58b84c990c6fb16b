// The points of a search: which combinations of its values remain when its constraints have cut the
// grid, and which jobs they are. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/controller/job/problem.h"
#include "services/controller/search/spec.h"
#include "services/controller/sweep/sweep.h"

namespace eidolon::controller::search {

struct Point {
  sweep::SweepPoint values;
  std::string name;            // sweep::NameOf(values).
  nlohmann::json job;          // The filled spec of its SimulationJob.
  job::Problems problems;      // Why there is no such job; empty: there is.
  nlohmann::json target = {};  // Its cluster, as a prediction says it; null: there is no such job.
};

// A constraint, with the number of combinations that it is the first to cut.
struct Cut {
  std::string constraint;
  std::size_t points = 0;
  std::string reason = {};  // Of a preset's rule: the framework's own check.
};

struct Grid {
  std::size_t combinations = 0;
  std::vector<Cut> cuts;  // One for each constraint, in their order.
  std::vector<Point> points;
};

// Expands and cuts the grid. A constraint that cannot be evaluated is a problem of the document, at
// its place, as is a grid in which no combination remains or none is a job. Where points differ in
// being jobs, those that are none are results like any other.
// Requires: `spec` was parsed without problems.
Grid MakeGrid(const SearchSpec& spec, job::Problems* problems);

// The point of some values, with what it resolves to; or the index of the constraint that cuts it.
struct MadePoint {
  Point point;
  std::optional<std::size_t> cut;
};
// A constraint that cannot be evaluated for it is a problem, at its place.
// Requires: `spec` was parsed without problems; `values` has all parameters in their order.
MadePoint MakePoint(const SearchSpec& spec, sweep::SweepPoint values, job::Problems* problems);

// A point's job as a document.
nlohmann::json DocumentOf(const Point& point, const std::string& name);
// The names of its parameters with their values.
Bindings BindingsOf(const sweep::SweepPoint& values);

}  // namespace eidolon::controller::search
