// Threads take points in the order of the grid, so that a budget is spent in this order. Each holds
// the lock but for the prediction itself. The rows that a look compares with are copies, as another
// thread may replace a row meanwhile.
#include "services/cli/searcher.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "services/base/text.h"
#include "services/cli/folder_lock.h"
#include "services/controller/search/front.h"
#include "services/controller/search/goal.h"
#include "services/controller/search/loss.h"
#include "services/controller/search/run_part.h"
#include "services/controller/shown/document_fields.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using controller::search::Findings;
using controller::search::Grid;
using controller::search::LossOf;
using controller::search::PartialOf;
using controller::search::Point;
using controller::search::SearchSpec;
using controller::search::WorstCaseOf;
using controller::shown::NumberAt;
using controller::shown::PhaseOf;
using nlohmann::json;

namespace {

EmbeddedOptions ForSeveralJobs(EmbeddedOptions embedded, std::size_t jobs) {
  embedded.controller.concurrent_jobs = jobs;
  return embedded;
}

}  // namespace

Searcher::Searcher(const SearchSpec& spec, const Grid& grid, const std::string& folder,
                   EmbeddedOptions embedded)
    : spec_(spec),
      grid_(grid),
      folder_(folder),
      runner_(ForSeveralJobs(std::move(embedded), spec.parallel), folder,
              spec.may_replay && controller::search::HasReplayedParameter(spec)),
      log_(folder + "/results.jsonl") {}

Result<Findings> Searcher::Run() {
  CountKnown();
  auto done = PredictWhere([this](const Point& point) { return !IsKnown(point); });
  if (!done) return std::unexpected(done.error());
  // Points that were dropped may be the best ones by another objective.
  done = PredictWhere(
      [this](const Point& point) { return IsKnown(point) && !IsSettled(point, Rivals()); });
  if (!done) return std::unexpected(done.error());
  const Rows rivals = Rivals();
  Findings findings = {.spec = spec_, .grid = grid_, .rows = {}, .not_tried = {}};
  for (const Point& point : grid_.points) {
    if (!point.problems.empty()) {
      findings.rows.push_back(controller::search::RefusedRowOf(point));
    } else if (IsKnown(point) && IsSettled(point, rivals)) {
      findings.rows.push_back(log_.at(point.name));
    } else {
      findings.not_tried.push_back(point.name);
    }
  }
  controller::search::JudgeRows(spec_, &findings.rows);
  controller::search::MarkFront(spec_, &findings.rows);
  return findings;
}

Result<json> Searcher::RowFor(const Point& point) {
  const auto lock = FolderLock::Take(folder_);
  if (!lock) return std::unexpected(lock.error());
  log_ = ResultsLog(folder_ + "/results.jsonl");
  tried_ = 0;
  spent_seconds_ = 0;
  for (const auto& [name, row] : log_.rows()) Count(row);
  // A tuner wants the whole value.
  if (!IsKnown(point) || PartialOf(log_.at(point.name)) > 0) {
    if (IsBudgetSpent()) return json();
    const auto row = Predict(point, {});
    if (!row) return std::unexpected(row.error());
    if (auto added = log_.Add(*row); !added) return std::unexpected(added.error());
    Count(*row);
  }
  return log_.at(point.name);
}

Result<void> Searcher::Keep(const json& row) {
  const auto lock = FolderLock::Take(folder_);
  if (!lock) return std::unexpected(lock.error());
  return log_.Add(row);
}

// Predicts points of the grid, several at a time. An error is none of a point's: no further point
// begins, and those that run end first.
Result<void> Searcher::PredictWhere(std::function<bool(const Point& point)> is_wanted) {
  Work work = {.is_wanted = std::move(is_wanted), .next = 0, .failure = {}};
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(spec_.parallel, grid_.points.size()); ++i) {
      threads.emplace_back([this, &work] { PredictNext(&work); });
    }
    PredictNext(&work);
  }
  return work.failure ? Result<void>(std::unexpected(*work.failure)) : Result<void>();
}

// One thread's part of the work.
void Searcher::PredictNext(Work* work) {
  while (true) {
    std::unique_lock lock(mutex_);
    const Point* point = Begin(work);
    if (point == nullptr) return;
    const auto goes_on = LookAt(*point);
    ++running_;
    lock.unlock();
    const auto row = Predict(*point, goes_on);
    lock.lock();
    --running_;
    const Result<void> added = row ? log_.Add(*row) : Result<void>(std::unexpected(row.error()));
    if (added) {
      Count(*row);
    } else if (!work->failure) {
      work->failure = added.error();
    }
  }
}

// Returns the next point to predict; null: there is none, or none may begin. Holds the lock.
const Point* Searcher::Begin(Work* work) {
  while (!work->failure && work->next < grid_.points.size() && !IsBudgetSpent()) {
    const Point& point = grid_.points[work->next++];
    if (!point.problems.empty() || !work->is_wanted(point)) continue;
    std::fprintf(stderr, "eidolon: point %zu of %zu: %s\n", work->next, grid_.points.size(),
                 point.name.c_str());
    return &point;
  }
  return nullptr;
}

// A row of a value that another type had, "4" and 4, is not the point's.
bool Searcher::IsKnown(const Point& point) const {
  if (!log_.Has(point.name)) return false;
  json values = json::object();
  for (const auto& [name, value] : point.values) values[name] = value;
  return log_.at(point.name).value("point", json()) == values;
}

// Counts what was found before, as the budget is that of the whole search.
void Searcher::CountKnown() {
  for (const Point& point : grid_.points) {
    if (point.problems.empty() && IsKnown(point)) Count(log_.at(point.name));
  }
}

void Searcher::Count(const json& row) {
  if (row.value("told", false)) return;  // It cost nothing here.
  ++tried_;
  spent_seconds_ += NumberAt(row, {"spentSeconds"});
}

bool Searcher::IsBudgetSpent() const {
  return (spec_.points_max > 0 && tried_ + running_ >= spec_.points_max) ||
         (spec_.wall_seconds_max > 0 &&
          spent_seconds_ >= static_cast<double>(spec_.wall_seconds_max));
}

// The rows of points that others may lose to: with one objective, the best of those that can be
// chosen.
Searcher::Rows Searcher::Rivals() const {
  Rows rivals;
  for (const Point& point : grid_.points) {
    if (!point.problems.empty() || !IsKnown(point)) continue;
    const json& row = log_.at(point.name);
    if (!controller::search::IsCandidate(spec_, row)) continue;
    const bool loses = !rivals.empty() && !IsBetter(row, *rivals.front());
    if (spec_.goals.empty() && loses) continue;
    if (spec_.goals.empty()) rivals.clear();
    rivals.push_back(&row);
  }
  return rivals;
}

bool Searcher::IsBetter(const json& one, const json& other) const {
  const controller::search::Goal goal = {spec_.objective.maximize, spec_.objective.field};
  const double difference = WorstCaseOf(one, goal) - WorstCaseOf(other, goal);
  return goal.maximize ? difference > 0 : difference < 0;
}

// Returns whether the row says all that matters: its job was not ended early, or has lost.
// Requires: IsKnown(point).
bool Searcher::IsSettled(const Point& point, const Rows& rivals) const {
  const json& row = log_.at(point.name);
  return PartialOf(row) == 0 || LossOf(spec_, row, rivals).has_value();
}

// Returns what ends the point's job once it has lost; empty without a look.
PointRunner::GoesOn Searcher::LookAt(const Point& point) const {
  if (spec_.look_iterations == 0) return {};
  const auto copies = std::make_shared<std::vector<json>>();
  for (const json* row : Rivals()) copies->push_back(*row);
  return [this, &point, copies](const json& job) {
    Rows rivals;
    for (const json& row : *copies) rivals.push_back(&row);
    return !HasLost(point, job, rivals);
  };
}

// Returns whether a job that runs, or is over soon, is one of a point that has lost.
bool Searcher::HasLost(const Point& point, const json& job, const Rows& rivals) const {
  const double measured = NumberAt(job, {"status", "prediction", "measuredIterations"});
  const double wanted = NumberAt(job, {"status", "progress", "of"});
  const bool is_looked_at = measured >= static_cast<double>(spec_.look_iterations) &&
                            NumberAt(job, {"status", "progress", "iteration"}) < wanted;
  if (!is_looked_at || PhaseOf(job) != "Running") return false;
  return LossOf(spec_, controller::search::PartialRowOf(point, job, spec_), rivals).has_value();
}

// Returns the point's row. `goes_on`: Replays::Predict's.
Result<json> Searcher::Predict(const Point& point, const PointRunner::GoesOn& goes_on) {
  const std::int64_t begin_ns = clock_.MonotonicNs();
  const auto predicted = runner_.Predict(point.job, goes_on);
  json row;
  if (predicted) {
    const std::string phase = PhaseOf(predicted->job);
    if (phase == "Running") {
      row = controller::search::PartialRowOf(point, predicted->job, spec_);
    } else if (phase != "Complete" && phase != "Failed") {
      return Fail(ErrorCode::kUnavailable, StrCat(point.name, " ended as ", phase,
                                                  "; the same command goes on with the search"));
    } else {
      row = controller::search::RowOf(point, predicted->job, spec_);
    }
    if (predicted->replayed) row["replayed"] = true;
  } else if (predicted.error().code == ErrorCode::kInvalidArgument) {
    Point refused = point;
    refused.problems = {{"", predicted.error().message}};
    row = controller::search::RefusedRowOf(refused);
  } else {
    return std::unexpected(predicted.error());
  }
  row["spentSeconds"] = static_cast<double>(clock_.MonotonicNs() - begin_ns) * 1e-9;
  return row;
}

}  // namespace eidolon::cli
