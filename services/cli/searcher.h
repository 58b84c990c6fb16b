// Runs the points of one search as far as its budget goes, and keeps their rows in a journal. A
// row is on the disk before its point counts as found, so a search that was killed at any moment
// goes on and runs no finished point again.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "services/base/clock.h"
#include "services/base/error.h"
#include "services/cli/embedded.h"
#include "services/cli/point_runner.h"
#include "services/cli/results_log.h"
#include "services/cli/search_ask.h"
#include "services/controller/search/outcome.h"
#include "services/controller/search/points.h"
#include "services/controller/search/search.h"

namespace eidolon::cli {

// Used by one thread; Run has threads of its own where the budget allows several points at a time.
class Searcher final : public PointRows {
 public:
  // `spec` and `grid` outlive this. `folder`: of the journal and of recordings.
  Searcher(const controller::search::SearchSpec& spec, const controller::search::Grid& grid,
           const std::string& folder, EmbeddedOptions embedded);

  // Predicts the points that are not known, and judges all.
  base::Result<controller::search::Findings> Run();

  // Other commands may have added rows since the last question, and do so in between.
  base::Result<nlohmann::json> RowFor(const controller::search::Point& point) override;
  base::Result<void> Keep(const nlohmann::json& row) override;

 private:
  using Point = controller::search::Point;
  using Rows = std::vector<const nlohmann::json*>;

  // Work that the threads of Run share.
  struct Work {
    std::function<bool(const Point& point)> is_wanted;  // Called with the lock.
    std::size_t next = 0;
    std::optional<base::Error> failure;
  };
  base::Result<void> PredictWhere(std::function<bool(const Point& point)> is_wanted);
  void PredictNext(Work* work);
  const Point* Begin(Work* work);

  bool IsKnown(const Point& point) const;
  void CountKnown();
  void Count(const nlohmann::json& row);
  bool IsBudgetSpent() const;
  Rows Rivals() const;
  bool IsBetter(const nlohmann::json& one, const nlohmann::json& other) const;
  bool IsSettled(const Point& point, const Rows& rivals) const;
  PointRunner::GoesOn LookAt(const Point& point) const;
  bool HasLost(const Point& point, const nlohmann::json& job, const Rows& rivals) const;
  base::Result<nlohmann::json> Predict(const Point& point, const PointRunner::GoesOn& goes_on);

  const controller::search::SearchSpec& spec_;
  const controller::search::Grid& grid_;
  const std::string folder_;
  PointRunner runner_;
  base::SystemClock clock_;
  std::mutex mutex_;  // Guards what follows while Run has threads.
  ResultsLog log_;
  std::size_t tried_ = 0;
  std::size_t running_ = 0;
  double spent_seconds_ = 0;
};

}  // namespace eidolon::cli
