// The figures of a prediction that rules of the diagnosis share, in seconds of one iteration and
// one GPU, and the phrases that their sentences are made of.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "services/controller/job/finding.h"
#include "services/controller/job/prediction.h"

namespace eidolon::controller::diagnosis {

// Means over the ranks that ran. The four parts of an iteration add up to `seconds`.
struct Facts {
  double seconds = 0;  // The steady iteration.
  double compute = 0;
  double exposed_communication = 0;
  double idle = 0;
  double host = 0;       // A GPU has nothing to do, because its host has not asked for anything.
  double host_work = 0;  // Of the slowest rank's host, whatever its GPU does meanwhile.
  double waits_for_ranks = 0;  // Exposed communication for which faster ranks wait for slower ones.
  double ranks = 1;            // That ran: sums over ranks are divided by it.
  bool is_python = false;

  double gpu_work() const { return compute + exposed_communication; }
};

// Nothing before an iteration is measured.
std::optional<Facts> FactsOf(const job::Prediction& prediction,
                             const std::vector<std::string>& command);

// Seconds of one rank, a mean: of all launches in an iteration, whatever runs at the same time.
double BusySeconds(const job::KernelTime& kernel, const Facts& facts);

// Returns whether so many seconds are worth a finding: a twentieth of the iteration.
bool Matters(double seconds, const Facts& facts);

// Result of a rule. `cause` is a sentence without its full stop.
struct Cause {
  std::string rule;
  std::string cause;
  std::string suggestion;
  double cost = 0;   // Seconds that the fault costs.
  double least = 0;  // Seconds that are left of the iteration if the suggestion works perfectly.
  std::vector<std::pair<std::string, double>> evidence;
};

// "CAUSE. SUGGESTION: up to -14 %."
job::Finding FindingOf(Cause cause, const Facts& facts);

// "3.5 ms", "840 us": at most three digits.
std::string Brief(double seconds);
// "14 %", "0.4 %".
std::string BriefPercent(double share);

}  // namespace eidolon::controller::diagnosis
