// Rules about the memory of the fullest rank. They concern what fits, not how long it takes.
#include <cmath>

#include "services/base/text.h"
#include "services/controller/diagnosis/rules.h"
#include "services/controller/job/status.h"

namespace eidolon::controller::diagnosis {
namespace {

using base::StrCat;
using job::FormatBytes;

double ShareUsed(const job::RankMemory& rank) {
  return static_cast<double>(rank.peak_bytes) / static_cast<double>(rank.capacity_bytes);
}

const job::RankMemory* FullestRank(const job::Prediction& prediction) {
  const job::RankMemory* worst = job::WorstRank(prediction);
  return worst == nullptr || worst->capacity_bytes == 0 ? nullptr : worst;
}

}  // namespace

std::optional<job::Finding> FullMemory(const job::Prediction& prediction) {
  // A twentieth of an 80 GiB GPU is less than what fragmentation and a longer batch may take.
  constexpr double kFull = 0.95;
  const job::RankMemory* worst = FullestRank(prediction);
  if (worst == nullptr || ShareUsed(*worst) < kFull) return std::nullopt;
  const std::string suggestion = "Activation checkpointing or a smaller micro-batch leaves room";
  return job::Finding{.rule = "full-memory",
                      .sentence = StrCat("Memory is nearly full: rank ", worst->rank, " reserves ",
                                         FormatBytes(worst->peak_bytes), " of ",
                                         FormatBytes(worst->capacity_bytes), ". ", suggestion, "."),
                      .suggestion = suggestion,
                      .least_seconds = std::nullopt,
                      .evidence = {{"peakBytes", static_cast<double>(worst->peak_bytes)},
                                   {"capacityBytes", static_cast<double>(worst->capacity_bytes)}}};
}

// Activations grow with the batch; parameters, gradients and the optimizer's state do not.
std::optional<job::Finding> RoomForABatch(const job::Prediction& prediction) {
  constexpr double kLeastGrowth = 2;
  const job::RankMemory* worst = FullestRank(prediction);
  if (worst == nullptr || worst->activation_bytes == 0) return std::nullopt;
  const auto activations = static_cast<double>(worst->activation_bytes);
  const double free =
      static_cast<double>(worst->capacity_bytes) - static_cast<double>(worst->peak_bytes);
  const double growth = std::floor((free + activations) / activations);
  if (growth < kLeastGrowth) return std::nullopt;
  const std::string suggestion = "A larger micro-batch spreads fixed costs";
  return job::Finding{
      .rule = "memory-room",
      .sentence =
          StrCat("Memory has room: rank ", worst->rank, " reserves ",
                 FormatBytes(worst->peak_bytes), " of ", FormatBytes(worst->capacity_bytes),
                 ", of which activations take ", FormatBytes(worst->activation_bytes), ". ",
                 suggestion, ": up to ", static_cast<std::uint64_t>(growth), " times as large."),
      .suggestion = suggestion,
      .least_seconds = std::nullopt,
      .evidence = {{"peakBytes", static_cast<double>(worst->peak_bytes)},
                   {"capacityBytes", static_cast<double>(worst->capacity_bytes)},
                   {"activationBytes", activations},
                   {"batchGrowth", growth}}};
}

}  // namespace eidolon::controller::diagnosis
