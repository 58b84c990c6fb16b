// Describes a training framework as it is known before anything runs: its parameters, the words of
// its command line that set them, and which combinations it refuses. A preset is a file of
// presets/, which the program contains.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/controller/search/expression.h"

namespace eidolon::controller::search {

struct EmbeddedPreset {
  std::string_view name;
  std::string_view text;  // YAML.
};
std::span<const EmbeddedPreset> EmbeddedPresets();

// A parameter, or a size of the model that rules need. At most one of `flag`, `switch_word`, `env`
// and `words` says how the framework takes it; without any the job names it.
struct PresetParameter {
  std::string name;
  std::string about;
  std::string flag;                                       // The word before its value.
  std::string switch_word;                                // The word that stands for true.
  std::string env;                                        // A variable of the environment.
  std::map<std::string, std::vector<std::string>> words;  // By the text of the value.
  nlohmann::json otherwise;                               // What holds without it; null: unknown.
  std::string like;       // The parameter whose value it has without one of its own.
  nlohmann::json values;  // What a search without a space tries; null: nothing.
};

struct PresetRule {
  Expression holds;
  std::string reason;               // The framework's own check, or why another practice is none.
  std::vector<std::string> unless;  // Words of a command line with which the rule says nothing.
};

struct Preset {
  std::string name;
  std::string about;
  std::vector<PresetParameter> parameters;
  std::vector<PresetRule> rules;

  // Null when it has none of this name.
  const PresetParameter* Find(std::string_view parameter) const;
};

// The error names the place.
base::Result<Preset> ParsePreset(std::string_view name, std::string_view text);

std::vector<std::string> PresetNames();
// One of these. Requires: the name is one of PresetNames().
Preset LoadPreset(std::string_view name);

}  // namespace eidolon::controller::search
