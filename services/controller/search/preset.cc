// A preset's file is part of the program, so that one that cannot be read is a bug, which a test of
// all files finds; fields are read as strictly as those of users' documents all the same.
#include "services/controller/search/preset.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/job/document.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::search {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using job::Fields;
using nlohmann::json;

PresetParameter ReadParameter(const std::string& name, Fields fields) {
  PresetParameter parameter;
  parameter.name = name;
  parameter.about = fields.Text("about");
  if (parameter.about.empty()) fields.Report("about", "is required");
  parameter.flag = fields.Text("flag");
  parameter.switch_word = fields.Text("switch");
  parameter.env = fields.Text("env");
  parameter.like = fields.Text("like");
  if (const json* otherwise = fields.Find("otherwise")) parameter.otherwise = *otherwise;
  if (const json* values = fields.Find("values")) parameter.values = *values;
  if (const json* words = fields.Find("words"); words != nullptr && words->is_object()) {
    Fields by_value(*words, fields.pointer() + "/words", fields.problems());
    for (const auto& [value, unused] : words->items()) {
      parameter.words[value] = by_value.TextList(value);
    }
  }
  const int ways = int{!parameter.flag.empty()} + int{!parameter.switch_word.empty()} +
                   int{!parameter.env.empty()} + int{!parameter.words.empty()};
  if (ways > 1) fields.Report("flag", "switch, env and words exclude each other");
  fields.Finish();
  return parameter;
}

void ReadRule(Fields fields, Preset* preset) {
  const std::string check = fields.Text("check");
  const std::string practice = fields.Text("practice");
  if (check.empty() == practice.empty()) {
    fields.Report("check", "or practice is required, and only one of them");
  }
  auto holds = Expression::Parse(fields.Text("holds"));
  std::vector<std::string> unless =
      fields.Has("unless") ? fields.TextList("unless") : std::vector<std::string>();
  if (!holds) fields.Report("holds", holds.error().message);
  fields.Finish();
  if (!holds) return;
  for (const std::string& name : holds->names()) {
    const bool is_known = preset->Find(name) != nullptr || name == "world" || name == "servers" ||
                          name == "gpusPerServer";
    if (!is_known) fields.Report("holds", StrCat("'", name, "' is not a parameter"));
  }
  preset->rules.push_back({.holds = std::move(*holds),
                           .reason = check.empty() ? practice : check,
                           .unless = std::move(unless)});
}

}  // namespace

const PresetParameter* Preset::Find(std::string_view parameter) const {
  const auto found = std::ranges::find(parameters, parameter, &PresetParameter::name);
  return found == parameters.end() ? nullptr : &*found;
}

Result<Preset> ParsePreset(std::string_view name, std::string_view text) {
  const auto documents = job::ParseYaml(text);
  if (!documents) return std::unexpected(documents.error());
  if (documents->size() != 1 || !documents->front().is_object()) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("preset '", name, "' is not a document"));
  }
  Preset preset;
  preset.name = name;
  job::Problems problems;
  Fields fields(documents->front(), "", &problems);
  preset.about = fields.Text("about");
  if (auto parameters = fields.Object("parameters")) {
    for (const auto& [key, unused] : documents->front()["parameters"].items()) {
      if (auto entry = parameters->Object(key)) {
        preset.parameters.push_back(ReadParameter(key, *entry));
      }
    }
    parameters->Finish();
  }
  for (Fields& rule : fields.ObjectList("rules")) ReadRule(std::move(rule), &preset);
  fields.Finish();
  for (const PresetParameter& each : preset.parameters) {
    if (!each.like.empty() && preset.Find(each.like) == nullptr) {
      problems.push_back({"/parameters/" + each.name + "/like", "is not a parameter"});
    }
  }
  if (problems.empty()) return preset;
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("preset '", name, "': ", job::Describe(problems)));
}

std::vector<std::string> PresetNames() {
  std::vector<std::string> names;
  for (const EmbeddedPreset& preset : EmbeddedPresets()) names.emplace_back(preset.name);
  return names;
}

Preset LoadPreset(std::string_view name) {
  const auto presets = EmbeddedPresets();
  const auto found = std::ranges::find(presets, name, &EmbeddedPreset::name);
  CHECK(found != presets.end());
  auto preset = ParsePreset(found->name, found->text);
  CHECK(preset.has_value());
  return std::move(*preset);
}

}  // namespace eidolon::controller::search
