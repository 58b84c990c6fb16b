// A rule must not cut a point that the framework would run. The value of a parameter that is not
// searched is therefore taken from where the framework takes it: the words of the command line, and
// only then what the framework takes without them. A rule with a name whose value is unknown says
// nothing, and the result of the search names what it lacked.
#include "services/controller/search/apply_preset.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "services/controller/search/fill.h"

namespace eidolon::controller::search {
namespace {

using base::StrCat;
using nlohmann::json;

// "--a_b" as "--a-b": frameworks take both.
std::string Spelled(std::string_view word) {
  std::string spelled(word);
  std::ranges::replace(spelled, '_', '-');
  return spelled;
}

std::vector<std::string> WordsOf(const json& job) {
  std::vector<std::string> words;
  const auto command = job.find("command");
  if (command == job.end() || !command->is_array()) return words;
  for (const json& word : *command)
    words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
  return words;
}

bool HasWord(const std::vector<std::string>& words, std::string_view flag) {
  const std::string spelled = Spelled(flag);
  return std::ranges::any_of(words, [&](const std::string& word) {
    const std::string own = Spelled(word.substr(0, word.find('=')));
    return own == spelled;
  });
}

// The value that the words give to a flag; the last one counts, as with argparse.
std::optional<std::string> ValueAfter(const std::vector<std::string>& words,
                                      std::string_view flag) {
  const std::string spelled = Spelled(flag);
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t at = words[i].find('=');
    if (Spelled(words[i].substr(0, at)) != spelled) continue;
    if (at != std::string::npos) {
      value = words[i].substr(at + 1);
    } else if (i + 1 < words.size()) {
      value = words[i + 1];
    }
  }
  return value;
}

std::optional<std::string> VariableOf(const json& job, const std::string& name) {
  const auto variables = job.find("env");
  if (variables == job.end() || !variables->is_array()) return std::nullopt;
  std::optional<std::string> value;
  for (const json& variable : *variables) {
    if (!variable.is_object() || variable.value("name", json()) != name) continue;
    if (variable.contains("value") && variable["value"].is_string()) value = variable["value"];
  }
  return value;
}

json TypedValueOf(const std::string& text) {
  if (const auto whole = base::ParseInteger(text)) return *whole;
  if (const auto number = base::ParseNumber(text)) return *number;
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return text;
}

class Application {
 public:
  Application(const Preset& preset, SearchSpec* spec) : preset_(preset), spec_(*spec) {}

  void Run() {
    // Holds the command as the user wrote it, before words are added.
    const std::vector<std::string> written = WordsOf(spec_.job);
    for (const PresetParameter& parameter : preset_.parameters) {
      if (IsSearched(parameter.name)) {
        Set(parameter);
      } else if (!HasFact(parameter.name)) {
        Find(parameter, written);
      }
    }
    std::erase_if(spec_.aliases, [this](const auto& alias) { return !IsKnown(alias.first); });
    for (const PresetRule& rule : preset_.rules) AddRule(rule, written);
  }

 private:
  bool IsSearched(std::string_view name) const {
    return std::ranges::any_of(spec_.space, [&](const auto& each) { return each.first == name; });
  }
  bool HasFact(std::string_view name) const {
    return std::ranges::any_of(spec_.facts, [&](const auto& each) { return each.first == name; });
  }
  bool HasValue(std::string_view name) const {
    return IsSearched(name) || HasFact(name) || name == kWorld || name == kServers ||
           name == kGpusPerServer;
  }

  void Set(const PresetParameter& parameter) {
    if (IsNamed(spec_.job, parameter.name)) return;
    // What is missing or not a list is a problem of the job.
    const auto list = spec_.job.find(parameter.env.empty() ? "command" : "env");
    const bool is_missing = list == spec_.job.end();
    if (is_missing ? parameter.env.empty() : !list->is_array()) return;
    const std::string placeholder = StrCat("${", parameter.name, "}");
    if (!parameter.flag.empty()) {
      spec_.job["command"].push_back(parameter.flag);
      spec_.job["command"].push_back(placeholder);
    } else if (!parameter.env.empty()) {
      spec_.job["env"].push_back({{"name", parameter.env}, {"value", placeholder}});
    } else if (!parameter.switch_word.empty()) {
      spec_.words.push_back({parameter.name, {{"true", {parameter.switch_word}}, {"false", {}}}});
    } else if (!parameter.words.empty()) {
      spec_.words.push_back({parameter.name, parameter.words});
    }
  }

  void Find(const PresetParameter& parameter, const std::vector<std::string>& written) {
    std::optional<std::string> text;
    if (!parameter.flag.empty()) text = ValueAfter(written, parameter.flag);
    if (!parameter.env.empty()) text = VariableOf(spec_.job, parameter.env);
    if (!parameter.switch_word.empty() && HasWord(written, parameter.switch_word)) text = "true";
    if (text && text->starts_with("${") && text->ends_with("}")) {
      const std::string other = text->substr(2, text->size() - 3);
      if (IsSearched(other)) spec_.aliases.emplace_back(parameter.name, other);
    } else if (text) {
      spec_.facts.emplace_back(parameter.name, TypedValueOf(*text));
    } else if (!parameter.otherwise.is_null()) {
      spec_.facts.emplace_back(parameter.name, parameter.otherwise);
    } else if (!parameter.like.empty()) {
      spec_.aliases.emplace_back(parameter.name, parameter.like);
    }
  }

  // Follows aliases to a name with a value of its own.
  bool IsKnown(std::string_view name) const {
    std::string at(name);
    for (std::size_t i = 0; i <= spec_.aliases.size(); ++i) {
      const auto alias =
          std::ranges::find_if(spec_.aliases, [&](const auto& each) { return each.first == at; });
      if (alias == spec_.aliases.end()) return HasValue(at);
      at = alias->second;
    }
    return false;
  }

  void AddRule(const PresetRule& rule, const std::vector<std::string>& written) {
    for (const std::string& word : rule.unless) {
      if (HasWord(written, word)) return;
    }
    std::vector<std::string> missing;
    for (const std::string& name : rule.holds.names()) {
      if (!IsKnown(name)) missing.push_back(name);
    }
    if (missing.empty()) {
      spec_.constraints.push_back(rule.holds);
      spec_.reasons.push_back(rule.reason);
      return;
    }
    for (const std::string& name : missing) {
      if (std::ranges::find(spec_.lacking, name) == spec_.lacking.end()) {
        spec_.lacking.push_back(name);
      }
    }
  }

  const Preset& preset_;
  SearchSpec& spec_;
};

}  // namespace

void ApplyPreset(const Preset& preset, SearchSpec* spec) { Application(preset, spec).Run(); }

}  // namespace eidolon::controller::search
