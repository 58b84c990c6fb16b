#include "services/controller/diagnosis/facts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::controller::diagnosis {
namespace {

using base::StrCat;

// "python3", "/usr/bin/torchrun", "train.py".
bool IsPythonWord(std::string_view word) {
  const std::string_view name = word.substr(word.rfind('/') + 1);
  return name.starts_with("python") || name.starts_with("torchrun") || name == "accelerate" ||
         name == "deepspeed" || name == "lightning" || name.ends_with(".py");
}

// `value` with at most three digits.
std::string ThreeDigits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 99.95 ? "%.0f" : "%.3g", value);
  return text;
}

}  // namespace

std::optional<Facts> FactsOf(const job::Prediction& prediction,
                             const std::vector<std::string>& command) {
  if (!prediction.steady || prediction.steady->seconds <= 0 || !prediction.breakdown) {
    return std::nullopt;
  }
  const double seconds = prediction.steady->seconds;
  const job::BreakdownShares& shares = *prediction.breakdown;
  const job::RankBalance balance = prediction.balance.value_or(job::RankBalance{.ranks = 1});
  const double exposed = shares.exposed_communication * seconds;
  return Facts{.seconds = seconds,
               .compute = shares.compute * seconds,
               .exposed_communication = exposed,
               .idle = shares.idle * seconds,
               .host = shares.host * seconds,
               .host_work = prediction.host_time ? prediction.host_time->work_seconds : 0,
               .waits_for_ranks = std::min(exposed, balance.excess_seconds),
               .ranks = std::max(1.0, static_cast<double>(balance.ranks)),
               .is_python = std::ranges::any_of(command, IsPythonWord)};
}

double BusySeconds(const job::KernelTime& kernel, const Facts& facts) {
  constexpr double kPicosecond = 1e-12;
  return static_cast<double>(kernel.picoseconds) * kPicosecond / facts.ranks;
}

bool Matters(double seconds, const Facts& facts) {
  constexpr double kLeastShare = 0.05;
  return seconds >= kLeastShare * facts.seconds;
}

job::Finding FindingOf(Cause cause, const Facts& facts) {
  const double least = std::clamp(cause.least, 0.0, facts.seconds);
  const double change = least / facts.seconds - 1;
  return {.rule = std::move(cause.rule),
          .sentence =
              StrCat(cause.cause, ". ", cause.suggestion, ": up to -", BriefPercent(-change), "."),
          .suggestion = std::move(cause.suggestion),
          .cost_seconds = cause.cost,
          .least_seconds = least,
          .change = change,
          .evidence = std::move(cause.evidence)};
}

std::string Brief(double seconds) {
  // Just below a thousand the next unit is the shorter one.
  for (const auto& [factor, unit] : {std::pair(1.0, "s"), {1e-3, "ms"}}) {
    if (seconds >= 0.9995 * factor) return StrCat(ThreeDigits(seconds / factor), " ", unit);
  }
  return StrCat(ThreeDigits(seconds * 1e6), " us");
}

std::string BriefPercent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share >= 0.0995 ? "%.0f %%" : "%.1f %%", share * 100);
  return text;
}

}  // namespace eidolon::controller::diagnosis
