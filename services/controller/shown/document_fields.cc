#include "services/controller/shown/document_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/controller/job/status.h"

namespace eidolon::controller::shown {

using nlohmann::json;

const json& At(const json& tree, Path path) {
  static const json kNull;
  const json* at = &tree;
  for (const char* key : path) {
    if (!at->is_object() || !at->contains(key)) return kNull;
    at = &(*at)[key];
  }
  return *at;
}

double NumberAt(const json& tree, Path path) {
  const json& value = At(tree, path);
  return value.is_number() ? value.get<double>() : 0;
}

std::int64_t CountAt(const json& tree, Path path) {
  // No conversion of any document's number is undefined.
  constexpr double kCountMax = 9e18;
  return static_cast<std::int64_t>(std::clamp(NumberAt(tree, path), 0.0, kCountMax));
}

std::string BytesAt(const json& tree, Path path) {
  return job::FormatBytes(static_cast<std::uint64_t>(CountAt(tree, path)));
}

std::string TextAt(const json& tree, Path path) {
  const json& value = At(tree, path);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string PhaseOf(const json& job) { return TextAt(job, {"status", "phase"}); }

std::string ShownPhaseOf(const json& object) {
  const std::string phase = PhaseOf(object);
  return phase == "Pending" && At(object, {"spec", "suspend"}) == json(true) ? "Suspended" : phase;
}

const json& StandingCondition(const json& job) {
  static const json kNone = json::object();
  const json& conditions = At(job, {"status", "conditions"});
  if (!conditions.is_array()) return kNone;
  const json* last = &kNone;
  const json* waits = nullptr;
  for (const json& condition : conditions) {
    if (TextAt(condition, {"status"}) == "True") last = &condition;
    const bool says_why = !TextAt(condition, {"message"}).empty();
    if (TextAt(condition, {"type"}) == "Scheduled" && says_why) waits = &condition;
  }
  const bool is_pending = TextAt(job, {"status", "phase"}) == "Pending";
  return is_pending && waits != nullptr ? *waits : *last;
}

Headline HeadlineOf(const json& prediction) {
  const auto of = [](const json& time, const char* name) {
    return Headline{.seconds = NumberAt(time, {name}),
                    .low = NumberAt(time, {"low"}),
                    .high = NumberAt(time, {"high"})};
  };
  Headline headline = of(At(prediction, {"steadyIteration"}), "seconds");
  if (headline.seconds <= 0) headline = of(At(prediction, {"iterationSeconds"}), "mean");
  headline.is_iteration = headline.seconds > 0;
  if (!headline.is_iteration) headline = of(At(prediction, {"program"}), "seconds");
  return headline;
}

std::string Beginning(const std::string& text, std::size_t bytes) {
  std::size_t end = std::min(text.size(), bytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace eidolon::controller::shown
