// A plan has no memory besides the status and the jobs: names carry the state. NAME-p3 is the job
// of the third point, NAME-run2 a run that records for the second group of points, and a further -2
// is a second attempt. Points that differ only in what a recording can answer (IsReplayed) form a
// group: the program runs once, and each point is a replay. Rows that are over are taken from the
// status before, as their jobs may have been deleted since. An attempt that a stopped controller
// interrupted is repeated without limit, one that a lost controller interrupted kSweepRestartsMax
// times, since it may be what made the controller die.
#include "services/controller/sweep/plan.h"

#include <algorithm>
#include <set>

#include "services/base/text.h"
#include "services/controller/job/condition.h"
#include "services/controller/sweep/change.h"
#include "services/controller/sweep/rows.h"

namespace eidolon::controller::sweep {

using base::StrCat;
using nlohmann::json;

namespace {

constexpr std::size_t kMessageMax = 256;  // Bytes, of a row.

const json& MemberOf(const json& tree, const char* key) {
  static const json kNone = json::object();
  const auto found = tree.is_object() ? tree.find(key) : tree.end();
  return found == tree.end() || found->is_null() ? kNone : *found;
}

std::string MemberText(const json& tree, const char* key) {
  const json& value = MemberOf(tree, key);
  return value.is_string() ? value.get<std::string>() : "";
}

std::int64_t GenerationOf(const json& sweep) {
  const json& generation = MemberOf(MemberOf(sweep, "metadata"), "generation");
  return generation.is_number_integer() ? generation.get<std::int64_t>() : 1;
}

std::string PhaseOfJob(const json& job) { return MemberText(MemberOf(job, "status"), "phase"); }

bool IsOverPhase(const std::string& phase) {
  return phase == "Complete" || phase == "Failed" || phase == "Interrupted" || phase == "Refused";
}

std::string ReasonOfEnd(const json& job) {
  std::string reason;
  for (const json& condition : MemberOf(MemberOf(job, "status"), "conditions")) {
    if (MemberText(condition, "status") == "True") reason = MemberText(condition, "reason");
  }
  return reason;
}

std::string CutText(std::string text) {
  if (text.size() <= kMessageMax) return text;
  std::size_t end = kMessageMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

// The jobs that were made for one purpose: the first, and those that began again what a lost
// controller had not ended.
struct Attempts {
  std::string name;            // Of the last one.
  const json* last = nullptr;  // Its job; null: it is still to be made.
  int number = 1;
  int lost = 0;  // With their controller.
};

// Plans one sweep.
class SweepPlanner {
 public:
  explicit SweepPlanner(const ObservedSweep& observed)
      : seen_(observed),
        spec_(observed.spec),
        name_(MemberText(MemberOf(observed.sweep, "metadata"), "name")),
        before_(MemberOf(observed.sweep, "status")),
        points_(PointsOf(spec_)) {
    for (const auto& [name, job] : seen_.jobs) {
      if (!IsOverPhase(PhaseOfJob(job))) ++unfinished_;
      Note(name, job);
    }
    room_ = spec_.concurrency > unfinished_ ? spec_.concurrency - unfinished_ : 0;
    if (spec_.suspend) room_ = 0;
    for (const SweepPoint& point : points_) {
      const std::string part = NameOf(RunPartOf(point));
      const auto [group, is_new] = groups_.try_emplace(part, Group{groups_.size() + 1, 0});
      ++group->second.points;
    }
  }

  SweepPlan Plan() {
    std::vector<json> rows;
    for (std::size_t i = 0; i < points_.size(); ++i) rows.push_back(RowAt(i));
    SweepPlan plan;
    plan.create = std::move(create_);
    json status = StatusOfRows(std::move(rows));
    if (status != before_) plan.status = std::move(status);
    return plan;
  }

 private:
  struct Group {
    std::size_t number = 0;
    std::size_t points = 0;
  };

  // "sweep-p3" and "sweep-p3-2" are attempts of the same.
  void Note(const std::string& name, const json& job) {
    std::string base = name;
    int number = 1;
    const std::size_t dash = name.rfind('-');
    if (const auto last = base::ParseInteger(name.substr(dash + 1)); last && *last > 1) {
      base = name.substr(0, dash);
      number = static_cast<int>(std::min<std::int64_t>(*last, 1'000'000));
    }
    Attempts& attempts = attempts_[base];
    if (ReasonOfEnd(job) == job::reason::kControllerRestarted) ++attempts.lost;
    if (attempts.last != nullptr && attempts.number > number) return;
    attempts.name = name;
    attempts.last = &job;
    attempts.number = number;
  }

  // The attempt that counts; the next one, when the last was lost and another may be made.
  Attempts FindAttempt(const std::string& base) const {
    const auto found = attempts_.find(base);
    if (found == attempts_.end()) return {.name = base};
    Attempts attempts = found->second;
    const std::string reason = ReasonOfEnd(*attempts.last);
    const bool is_lost =
        reason == job::reason::kControllerStopped ||
        (reason == job::reason::kControllerRestarted && attempts.lost <= kSweepRestartsMax);
    if (PhaseOfJob(*attempts.last) != "Interrupted" || !is_lost) return attempts;
    ++attempts.number;
    attempts.name = StrCat(base, "-", attempts.number);
    attempts.last = nullptr;
    return attempts;
  }

  std::optional<std::string> RefusalOf(const std::string& job) const {
    const auto found = seen_.refused.find(job);
    if (found == seen_.refused.end()) return std::nullopt;
    return found->second;
  }

  // Row of a point that was over in the previous plan; null: there is none. Such a row is final,
  // even when the jobs behind it have been deleted since.
  const json* KnownRow(std::size_t index) const {
    const json& rows = MemberOf(before_, "points");
    if (!rows.is_array() || index >= rows.size()) return nullptr;
    const json& row = rows[index];
    const bool is_same = MemberText(row, "name") == NameOf(points_[index]);
    return is_same && IsOverPhase(MemberText(row, "phase")) ? &row : nullptr;
  }

  json RowAt(std::size_t index) {
    if (const json* known = KnownRow(index)) return *known;
    const SweepPoint& point = points_[index];
    const Attempts attempt = FindAttempt(StrCat(name_, "-p", index + 1));
    if (attempt.last != nullptr) {
      const json& labels = MemberOf(MemberOf(*attempt.last, "metadata"), "labels");
      json row = RowOfJob(point, *attempt.last, MemberText(labels, kReplayLabel) == "true");
      row["job"] = attempt.name;
      if (attempt.number > 1) row["attempt"] = attempt.number;
      return row;
    }
    if (const auto why = RefusalOf(attempt.name)) return RefusedRow(point, *why);
    return BeginPoint(point, attempt);
  }

  // A point is a replay once the run of its group has left a recording. It runs the program itself
  // if a recording would serve it alone, or if there is none to be had; a point that sweeps a
  // factor of replays cannot, and is refused then.
  json BeginPoint(const SweepPoint& point, const Attempts& attempt) {
    const bool needs_replay = std::ranges::any_of(
        point, [](const auto& field) { return field.first.starts_with("replay."); });
    const Group& group = groups_.at(NameOf(RunPartOf(point)));
    if (!spec_.recording.empty()) {
      Create(ReplayJob(attempt.name, point, spec_.recording));
      return WaitingRow(point);
    }
    const bool is_worth_it = needs_replay || group.points > 1;
    if (!seen_.recording_of || !spec_.may_replay || !is_worth_it) {
      Create(RunJob(attempt.name, point));
      return WaitingRow(point);
    }
    const Attempts run = FindAttempt(StrCat(name_, "-run", group.number));
    if (run.last == nullptr && !RefusalOf(run.name)) {
      if (begun_.insert(run.name).second) {
        json job = RunJob(run.name, RunPartOf(point));
        job["spec"]["outputs"]["recording"] = true;
        Create(std::move(job));
      }
      return WaitingRow(point);
    }
    if (run.last != nullptr && !IsOverPhase(PhaseOfJob(*run.last))) return WaitingRow(point);
    const std::string recording = run.last == nullptr ? "" : seen_.recording_of(run.name);
    const std::string phase = run.last == nullptr ? "" : PhaseOfJob(*run.last);
    if (phase == "Complete" && !recording.empty()) {
      Create(ReplayJob(attempt.name, point, recording));
      return WaitingRow(point);
    }
    // Without a recording the program runs for each point; one that ran out of memory may have
    // enough on another GPU.
    const bool may_run = run.last == nullptr || phase == "Complete" ||
                         ReasonOfEnd(*run.last) == job::reason::kOutOfMemory;
    if (may_run && !needs_replay) {
      Create(RunJob(attempt.name, point));
      return WaitingRow(point);
    }
    if (run.last == nullptr) return RefusedRow(point, *RefusalOf(run.name));
    if (phase == "Complete") return RefusedRow(point, "the run has left no recording to replay");
    json row = RowOfJob(point, *run.last, /*replayed=*/false);
    row["job"] = run.name;
    return row;
  }

  void Create(json job) {
    if (room_ == 0) return;
    --room_;
    create_.push_back(std::move(job));
  }

  json JobOf(const std::string& name) const {
    const json& uid = MemberOf(MemberOf(seen_.sweep, "metadata"), "uid");
    return {{"apiVersion", job::kApiVersion},
            {"kind", job::kJobKind},
            {"metadata",
             {{"name", name},
              {"labels", {{kSweepLabel, name_}, {kSweepUidLabel, uid.is_string() ? uid : ""}}}}},
            {"spec", spec_.job}};
  }

  json RunJob(const std::string& name, const SweepPoint& point) const {
    json job = JobOf(name);
    ApplyPoint(point, &job);
    return job;
  }

  json ReplayJob(const std::string& name, const SweepPoint& point,
                 const std::string& recording) const {
    json job = JobOf(name);
    ApplyPoint(point, &job);
    job["spec"] = ReplaySpecOf(job["spec"], recording);
    job["metadata"]["labels"][kReplayLabel] = "true";
    return job;
  }

  static json WaitingRow(const SweepPoint& point) {
    json fields = json::object();
    for (const auto& [path, value] : point) fields[path] = value;
    return {{"name", NameOf(point)}, {"point", fields}, {"phase", "Pending"}};
  }

  static json RefusedRow(const SweepPoint& point, const std::string& why) {
    json row = WaitingRow(point);
    row.update({{"phase", "Refused"}, {"reason", "Refused"}, {"message", CutText(why)}});
    return row;
  }

  json RowOfJob(const SweepPoint& point, const json& job, bool replayed) const {
    json row = RowOf(point, job, spec_, replayed);
    if (!IsOverPhase(PhaseOfJob(job))) {
      row = WaitingRow(point);
      row["phase"] = PhaseOfJob(job) == "Running" ? "Running" : "Pending";
      return row;
    }
    row["message"] = CutText(row["message"].get<std::string>());
    for (const char* field : {"reason", "message"}) {
      if (row[field] == "") row.erase(field);
    }
    return row;
  }

  json StatusOfRows(std::vector<json> rows) const;
  job::Conditions ConditionsOf(const json& counts, bool is_begun) const;

  const ObservedSweep& seen_;
  const SweepSpec& spec_;
  const std::string name_;
  const json& before_;
  const std::vector<SweepPoint> points_;
  std::map<std::string, Attempts> attempts_;  // By what the first one is called.
  std::map<std::string, Group> groups_;       // By the name of the part that must run.
  std::size_t unfinished_ = 0;                // Jobs.
  std::size_t room_ = 0;                      // For further jobs.
  std::vector<json> create_;
  std::set<std::string> begun_;  // Runs that several points wait for.
};

job::Conditions SweepPlanner::ConditionsOf(const json& counts, bool is_begun) const {
  job::Conditions conditions =
      job::Conditions::FromJson(before_.value("conditions", json::array()));
  const auto set = [&](std::string_view type, bool value, std::string_view reason,
                       const std::string& message) {
    conditions.Set({std::string(type), value, std::string(reason), message, seen_.now});
  };
  set(job::condition::kAccepted, true, job::reason::kValid, "");
  const std::size_t open =
      counts["pending"].get<std::size_t>() + counts["running"].get<std::size_t>();
  if (open > 0) {
    const job::Condition* running = conditions.Find(job::condition::kRunning);
    if (spec_.suspend) {
      set(job::condition::kRunning, unfinished_ > 0, job::reason::kSuspended,
          "spec.suspend is true: no point begins, and jobs that exist go on");
    } else if (!seen_.trouble.empty()) {
      set(job::condition::kRunning, is_begun, job::reason::kWaitingForServices, seen_.trouble);
    } else if (is_begun) {
      set(job::condition::kRunning, true, job::reason::kStarted, "");
    } else if (running != nullptr && running->reason == job::reason::kSuspended) {
      set(job::condition::kRunning, false, job::reason::kQueued, "");
    }
    return conditions;
  }
  set(job::condition::kRunning, false, job::reason::kFinished, "");
  const auto done = counts["complete"].get<std::size_t>();
  const std::string message = StrCat(done, " of ", points_.size(), " points are predicted");
  if (done > 0) {
    set(job::condition::kComplete, true, job::reason::kPointsPredicted, message);
  } else {
    set(job::condition::kFailed, true, job::reason::kNoPrediction, message);
  }
  return conditions;
}

json SweepPlanner::StatusOfRows(std::vector<json> rows) const {
  MarkFront(&rows);
  json counts = {
      {"points", rows.size()}, {"pending", 0}, {"running", 0}, {"complete", 0}, {"failed", 0}};
  const json* best = nullptr;
  for (json& row : rows) {
    if (!row["front"].get<bool>()) row.erase("front");
    const std::string phase = MemberText(row, "phase");
    const char* kind = phase == "Pending"    ? "pending"
                       : phase == "Running"  ? "running"
                       : phase == "Complete" ? "complete"
                                             : "failed";
    counts[kind] = counts[kind].get<int>() + 1;
    if (HasPrediction(row) && (best == nullptr || ThroughputOf(row) > ThroughputOf(*best))) {
      best = &row;
    }
  }
  const bool is_begun =
      !seen_.jobs.empty() || counts["pending"] != rows.size() || before_.contains("startTime");
  const job::Conditions conditions = ConditionsOf(counts, is_begun);
  const bool is_over =
      conditions.IsTrue(job::condition::kComplete) || conditions.IsTrue(job::condition::kFailed);
  const bool is_running = is_begun && (!spec_.suspend || unfinished_ > 0);
  json status = {{"observedGeneration", GenerationOf(seen_.sweep)},
                 {"fixedDigest", FixedDigestOf(seen_.sweep)},
                 {"conditions", conditions.ToJson()},
                 {"counts", counts},
                 {"phase", conditions.IsTrue(job::condition::kComplete) ? "Complete"
                           : is_over                                    ? "Failed"
                           : is_running                                 ? "Running"
                                                                        : "Pending"}};
  if (is_begun) status["startTime"] = before_.value("startTime", seen_.now);
  if (is_over) status["completionTime"] = before_.value("completionTime", seen_.now);
  if (best != nullptr) {
    status["best"] = {{"name", (*best)["name"]}, {"iterationSeconds", (*best)["iterationSeconds"]}};
  }
  status["points"] = std::move(rows);
  return status;
}

}  // namespace

SweepPlan PlanSweep(const ObservedSweep& observed) { return SweepPlanner(observed).Plan(); }

std::optional<json> RefuseSweep(const json& sweep, const job::Problems& problems,
                                const std::string& now) {
  const json& before = MemberOf(sweep, "status");
  job::Conditions conditions = job::Conditions::FromJson(before.value("conditions", json::array()));
  const std::string why = job::Describe(problems);
  conditions.Set({std::string(job::condition::kAccepted), false,
                  std::string(job::reason::kInvalidSpec), why, now});
  conditions.Set({std::string(job::condition::kFailed), true,
                  std::string(job::reason::kInvalidSpec), why, now});
  json status = {{"observedGeneration", GenerationOf(sweep)},
                 {"conditions", conditions.ToJson()},
                 {"phase", "Failed"},
                 {"completionTime", before.value("completionTime", now)}};
  if (status == before) return std::nullopt;
  return status;
}

bool IsSweepOver(const json& sweep) { return IsOverPhase(PhaseOfJob(sweep)); }

std::map<std::string, double> PointsByPhase(const json& sweep) {
  std::map<std::string, double> points;
  for (const auto& [phase, count] : MemberOf(MemberOf(sweep, "status"), "counts").items()) {
    if (phase != "points" && count.is_number()) points[phase] = count.get<double>();
  }
  return points;
}

json SweepSummaryOf(json sweep) {
  if (sweep.contains("spec")) sweep["spec"].erase("job");
  if (sweep.contains("status")) sweep["status"].erase("points");
  return sweep;
}

}  // namespace eidolon::controller::sweep
