#include "services/cli/sweep.h"

#include <algorithm>

#include "services/base/text.h"
#include "services/cli/document_fields.h"
#include "services/cli/html.h"
#include "services/cli/report.h"
#include "services/cli/report_line.h"
#include "services/controller/job/document.h"
#include "services/controller/job/status.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::StrCat;
using nlohmann::json;

namespace {

std::unexpected<base::Error> Wrong(const std::string& field, const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, StrCat("sweep: ", field, " ", what));
}

std::vector<std::string> PartsOf(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

std::string TextOf(const json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// Of the sort of a row: what it measures, whatever is known.
double Throughput(const json& row) {
  const double tokens = NumberAt(row, {"tokensPerSecond"});
  return tokens > 0 ? tokens : NumberAt(row, {"iterationsPerSecond"});
}

bool HasPrediction(const json& row) { return NumberAt(row, {"iterationSeconds"}) > 0; }

bool Beats(const json& one, const json& other, bool priced) {
  const auto worth = [priced](const json& row) {
    return priced ? -NumberAt(row, {"costPerUnit"}) : NumberAt(row, {"headroomBytes"});
  };
  const bool as_good = Throughput(one) >= Throughput(other) && worth(one) >= worth(other);
  return as_good && (Throughput(one) > Throughput(other) || worth(one) > worth(other));
}

}  // namespace

base::Result<SweepSpec> ParseSweep(std::string_view text) {
  const auto documents = controller::job::ParseYaml(text);
  if (!documents) return std::unexpected(documents.error());
  if (documents->empty()) return Wrong("the file", "is empty");
  const json& document = documents->front();
  if (!document.is_object()) return Wrong("the file", "must be an object");
  SweepSpec spec;
  for (const auto& [key, value] : document.items()) {
    if (key == "job" || key == "recording") {
      if (!value.is_string()) return Wrong(key, "must be the path of a file");
      (key == "job" ? spec.job : spec.recording) = value.get<std::string>();
    } else if (key == "matrix") {
      if (!value.is_object() || value.empty()) return Wrong(key, "must be {PATH: [VALUE, ...]}");
      for (const auto& [path, values] : value.items()) {
        if (path.empty() || !values.is_array() || values.empty()) {
          return Wrong(StrCat("matrix.", path), "must be a list of values");
        }
        spec.matrix.emplace_back(path, values.get<std::vector<json>>());
      }
    } else if (key == "price") {
      if (!value.is_object()) return Wrong(key, "must be {GPU: NUMBER}");
      for (const auto& [gpu, price] : value.items()) {
        if (!price.is_number() || price.get<double>() < 0) {
          return Wrong(StrCat("price.", gpu), "must be what an hour of a GPU costs");
        }
        spec.prices.emplace_back(gpu, price.get<double>());
      }
    } else {
      return Wrong(key, "is unknown; a sweep has job or recording, matrix and price");
    }
  }
  if (spec.job.empty() == spec.recording.empty()) {
    return Wrong("job", "or recording is required, and not both");
  }
  if (spec.matrix.empty()) return Wrong("matrix", "is required: {PATH: [VALUE, ...]}");
  std::size_t points = 1;
  for (const auto& [path, values] : spec.matrix) {
    points *= std::min(values.size(), kSweepPointsMax + 1);
    if (points > kSweepPointsMax) {
      return Wrong("matrix", StrCat("has more than ", kSweepPointsMax, " combinations"));
    }
    if (spec.job.empty() && !IsReplayed(path)) {
      return Wrong(StrCat("matrix.", path),
                   "changes what the program does, which a recording "
                   "cannot tell: give job: FILE, so that it can be run");
    }
  }
  return spec;
}

std::vector<SweepPoint> PointsOf(const SweepSpec& spec) {
  std::vector<SweepPoint> points = {{}};
  for (const auto& [path, values] : spec.matrix) {
    std::vector<SweepPoint> longer;
    for (const SweepPoint& point : points) {
      for (const json& value : values) {
        longer.push_back(point);
        longer.back().emplace_back(path, value);
      }
    }
    points = std::move(longer);
  }
  return points;
}

bool IsReplayed(std::string_view path) {
  if (path.starts_with("replay.")) return path != "replay.recording";
  if (path == "iterations.tokens") return true;
  if (path.starts_with("cluster.server.")) return path != "cluster.server.gpusPerServer";
  return path == "cluster.fabric" || path.starts_with("cluster.fabric.");
}

SweepPoint RunPartOf(const SweepPoint& point) {
  SweepPoint part;
  for (const auto& field : point) {
    if (!IsReplayed(field.first)) part.push_back(field);
  }
  return part;
}

std::string NameOf(const SweepPoint& point) {
  std::string name;
  for (const auto& [path, value] : point) {
    name += StrCat(name.empty() ? "" : " ", path, "=", TextOf(value));
  }
  return name;
}

void ApplyPoint(const SweepPoint& point, json* job) {
  for (const auto& [path, value] : point) {
    const std::vector<std::string> parts = PartsOf(path);
    json* at = &(*job)["spec"];
    if (parts.size() == 2 && parts[0] == "env") {
      json kept = json::array();
      for (const json& variable : at->value("env", json::array())) {
        if (TextAt(variable, {"name"}) != parts[1]) kept.push_back(variable);
      }
      kept.push_back({{"name", parts[1]}, {"value", TextOf(value)}});
      (*at)["env"] = std::move(kept);
      continue;
    }
    for (const std::string& part : parts) {
      if (!at->is_object()) *at = json::object();
      at = &(*at)[part];
    }
    *at = value;
  }
}

json RowOf(const SweepPoint& point, const json& job, const SweepSpec& spec, bool replayed) {
  json fields = json::object();
  for (const auto& [path, value] : point) fields[path] = value;
  const json& prediction = At(job, {"status", "prediction"});
  const json& condition = StandingCondition(job);
  json row = {{"name", NameOf(point)},
              {"point", fields},
              {"replayed", replayed},
              {"phase", PhaseOf(job)},
              {"reason", TextAt(condition, {"reason"})},
              {"message", TextAt(condition, {"message"})},
              {"wallSeconds", NumberAt(job, {"status", "simulation", "wallSeconds"})}};
  const double seconds = NumberAt(prediction, {"iterationSeconds", "mean"});
  if (PhaseOf(job) != "Complete" || seconds <= 0) return row;
  row["iterationSeconds"] = seconds;
  row["iterationsPerSecond"] = 1 / seconds;
  const double tokens = NumberAt(prediction, {"tokensPerSecond"});
  if (tokens > 0) row["tokensPerSecond"] = tokens;
  row["headroomBytes"] = NumberAt(prediction, {"memory", "capacityBytes"}) -
                         NumberAt(prediction, {"memory", "peakReservedBytes"});
  const json& server = At(prediction, {"target", "cluster", "server"});
  const double gpus =
      NumberAt(prediction, {"target", "servers"}) * NumberAt(server, {"gpusPerServer"});
  row["gpus"] = gpus;
  for (const auto& [gpu, price] : spec.prices) {
    if (gpu != TextAt(server, {"gpu"})) continue;
    row["costPerHour"] = price * gpus;
    // Of a million tokens where tokens are known, else of a thousand iterations.
    row["costPerUnit"] = price * gpus / 3600 * (tokens > 0 ? 1e6 / tokens : 1e3 * seconds);
  }
  return row;
}

void RankRows(std::vector<json>* rows) {
  std::ranges::stable_sort(*rows, [](const json& a, const json& b) {
    if (HasPrediction(a) != HasPrediction(b)) return HasPrediction(a);
    return Throughput(a) > Throughput(b);
  });
  const bool priced =
      std::ranges::any_of(*rows, [](const json& row) { return row.contains("costPerUnit"); });
  const auto counts = [priced](const json& row) {
    const bool fits = NumberAt(row, {"headroomBytes"}) >= 0;
    return HasPrediction(row) && fits && (!priced || row.contains("costPerUnit"));
  };
  for (json& row : *rows) {
    row["front"] = counts(row) && std::ranges::none_of(*rows, [&](const json& other) {
                     return counts(other) && Beats(other, row, priced);
                   });
  }
}

std::string SweepTable(const std::vector<json>& rows) {
  std::string text = "  iteration    per second    head-room      cost  front  point\n";
  for (const json& row : rows) {
    if (!HasPrediction(row)) {
      text += StrCat("  ", TextAt(row, {"phase"}), " (", TextAt(row, {"reason"}), ")  ",
                     TextAt(row, {"name"}), "  ", TextAt(row, {"message"}), "\n");
      continue;
    }
    const auto column = [](std::string value, std::size_t width) {
      return value.size() < width ? std::string(width - value.size(), ' ') + value : value;
    };
    const bool is_front = row.value("front", false);
    const double headroom = NumberAt(row, {"headroomBytes"});
    text +=
        column(FormatSeconds(NumberAt(row, {"iterationSeconds"})), 11) +
        column(Print("%.6g", Throughput(row)), 14) +
        column((headroom < 0 ? "-" : "") + controller::job::FormatBytes(static_cast<std::uint64_t>(
                                               headroom < 0 ? -headroom : headroom)),
               13) +
        column(row.contains("costPerUnit") ? Print("%.4g", NumberAt(row, {"costPerUnit"})) : "-",
               10) +
        column(is_front ? "*" : "", 5) + "    " + TextAt(row, {"name"}) + "\n";
  }
  text +=
      "  per second: tokens where the job names them, else iterations; cost: of a million tokens, "
      "else of a thousand iterations\n";
  return text;
}

std::string SweepCsv(const std::vector<json>& rows) {
  const auto quote = [](std::string text) {
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  };
  constexpr const char* kNumbers[] = {
      "iterationSeconds", "iterationsPerSecond", "tokensPerSecond", "headroomBytes", "gpus",
      "costPerHour",      "costPerUnit",         "wallSeconds"};
  std::vector<std::string> paths;
  if (!rows.empty()) {
    for (const auto& [path, value] : At(rows.front(), {"point"}).items()) paths.push_back(path);
  }
  std::string text;
  for (const std::string& path : paths) text += quote(path) + ",";
  text += "phase,reason,replayed,front";
  for (const char* name : kNumbers) text += StrCat(",", name);
  text += "\n";
  for (const json& row : rows) {
    const json& point = At(row, {"point"});
    for (const std::string& path : paths) {
      text += quote(point.contains(path) ? TextOf(point[path]) : "") + ",";
    }
    text += StrCat(quote(TextAt(row, {"phase"})), ",", quote(TextAt(row, {"reason"})), ",",
                   row.value("replayed", false) ? 1 : 0, ",", row.value("front", false) ? 1 : 0);
    for (const char* name : kNumbers) {
      text += row.contains(name) ? Print(",%.17g", NumberAt(row, {name})) : ",";
    }
    text += "\n";
  }
  return text;
}

std::string SweepSvg(const std::vector<json>& rows) {
  constexpr double kWidth = 720, kHeight = 420, kMargin = 60;
  const bool priced =
      std::ranges::any_of(rows, [](const json& row) { return row.contains("costPerUnit"); });
  const auto height_of = [priced](const json& row) {
    return NumberAt(row, {priced ? "costPerUnit" : "headroomBytes"});
  };
  double right = 0, top = 0;
  for (const json& row : rows) {
    right = std::max(right, Throughput(row));
    top = std::max(top, height_of(row));
  }
  std::string text = StrCat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 420\" "
      "font-family=\"sans-serif\" "
      "font-size=\"12\"><rect width=\"720\" height=\"420\" fill=\"white\"/>"
      "<path d=\"M60 20V360H700\" fill=\"none\" stroke=\"black\"/>"
      "<text x=\"380\" y=\"400\" text-anchor=\"middle\">per second</text><text x=\"8\" y=\"14\">",
      priced ? "cost" : "memory head-room, bytes", "</text>");
  for (const json& row : rows) {
    if (!HasPrediction(row) || right <= 0 || top <= 0) continue;
    const double x = kMargin + (kWidth - kMargin - 20) * Throughput(row) / right;
    const double y =
        kHeight - kMargin - (kHeight - kMargin - 20) * std::max(0.0, height_of(row)) / top;
    text += StrCat("<circle cx=\"", Print("%.1f", x), "\" cy=\"", Print("%.1f", y),
                   "\" r=\"5\" fill=\"", row.value("front", false) ? "#b33" : "#68a", "\"><title>",
                   html::Escape(TextAt(row, {"name"})), ": ", Print("%.6g", Throughput(row)), ", ",
                   Print("%.6g", height_of(row)), "</title></circle>");
  }
  return text + "</svg>\n";
}

}  // namespace eidolon::cli
