// The OpenAPI document is compiled in and is the one that REST serves, so `explain` and the
// interface cannot differ. References and lists are followed in one function, because a path of
// fields does not show where either occurs; their depth is bounded, in case a reference leads back
// to itself. A description at the place of use goes before that of the referenced type, as it is
// more specific.
#include "services/cli/explain.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "services/base/text.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr int kDepthMax = 8;  // Of references to references.
constexpr std::size_t kNameWidth = 26;

// The schema that another one refers to, or itself.
const json& Followed(const json& document, const json& schema) {
  const json* at = &schema;
  for (int i = 0; i < kDepthMax && at->is_object(); ++i) {
    const auto reference = at->find("$ref");
    if (reference != at->end() && reference->is_string()) {
      at = &document.at(json::json_pointer(reference->get<std::string>().substr(1)));
    } else if (at->value("type", json()) == "array" && at->contains("items")) {
      at = &at->at("items");
    } else {
      break;
    }
  }
  return *at;
}

std::string TypeOf(const json& document, const json& schema) {
  if (schema.value("type", json()) == "array") {
    return "list of " + TypeOf(document, Followed(document, schema));
  }
  const json& own = Followed(document, schema);
  const json type = own.value("type", json("any value"));
  if (type.is_string()) return type.get<std::string>();
  std::vector<std::string> names;
  for (const json& name : type) names.push_back(name.is_string() ? name.get<std::string>() : "");
  return base::Join(names, " or ");
}

std::string Limits(const json& schema) {
  std::string text;
  if (schema.contains("enum")) {
    std::vector<std::string> values;
    for (const json& value : schema["enum"]) {
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    }
    text += StrCat("allowed: ", base::Join(values, ", "), "\n");
  }
  for (const auto& [key, word] : {std::pair("default", "default"), std::pair("minimum", "at least"),
                                  std::pair("maximum", "at most"), std::pair("pattern", "form")}) {
    if (schema.contains(key)) text += StrCat(word, ": ", schema[key].dump(), "\n");
  }
  return text;
}

std::string Describe(const json& document, const std::string& field, const json& given) {
  const json& schema = Followed(document, given);
  std::string text = StrCat(field, "  (", TypeOf(document, given), ")\n");
  const std::string own = given.is_object() ? given.value("description", "") : "";
  const std::string words = own.empty() ? schema.value("description", "") : own;
  if (!words.empty()) text += words + "\n";
  text += Limits(schema);
  const json fields = schema.value("properties", json::object());
  if (!fields.empty()) text += "\nfields:\n";
  for (const auto& [name, below] : fields.items()) {
    std::string line = "  " + name;
    line.resize(std::max(line.size() + 2, kNameWidth), ' ');
    const std::string about = below.value("description", "");
    text += StrCat(line, about.empty() ? Followed(document, below).value("description", "") : about,
                   "\n");
  }
  return text;
}

base::Result<std::string> ExplainIn(const json& document, const std::string& field) {
  std::vector<std::string> parts;
  for (const std::string_view part : base::Split(field, '.')) parts.emplace_back(part);
  const json& schemas = document.at(json::json_pointer("/components/schemas"));
  const bool named =
      parts[0] == "job" || parts[0] == "cluster" || parts[0] == "sweep" || parts[0] == "search";
  if (!named) parts.insert(parts.begin(), "job");
  const json* at = &schemas.at(parts[0] == "job"      ? "SimulationJob"
                               : parts[0] == "sweep"  ? "SimulationSweep"
                               : parts[0] == "search" ? "SimulationSearch"
                                                      : "SimulatedCluster");
  std::string path = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const json& fields = Followed(document, *at).value("properties", json::object());
    std::vector<std::string> names;
    for (const auto& [name, schema] : fields.items()) names.push_back(name);
    if (!fields.contains(parts[i])) {
      const auto nearest = base::NearestName(parts[i], names);
      return base::Fail(
          base::ErrorCode::kNotFound,
          StrCat("'", path, "' has no field '", parts[i], "'",
                 nearest ? StrCat("; did you mean '", *nearest, "'?") : ";",
                 names.empty() ? " it has no fields" : " Its fields: " + base::Join(names, ", ")));
    }
    at = &Followed(document, *at).at("properties").at(parts[i]);
    path += "." + parts[i];
  }
  return Describe(document, path, *at);
}

}  // namespace

base::Result<std::string> Explain(std::string_view schema, const std::string& field) {
  try {
    return ExplainIn(json::parse(schema), field);
  } catch (const json::exception& error) {
    return base::Fail(base::ErrorCode::kInternal, StrCat("the schema is damaged: ", error.what()));
  }
}

}  // namespace eidolon::cli
