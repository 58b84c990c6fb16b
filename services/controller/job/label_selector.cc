// Selectors are text that users know from kubectl, so the grammar is that of the Kubernetes API,
// and what this parser does not understand is refused: a selector that matched more than was meant
// could delete the wrong jobs. A list in brackets contains commas, so the text is split at those
// outside of brackets first. All forms become four operators over sets: "=" is "in" with one value,
// and "!=" is "notin" with one.
#include "services/controller/job/label_selector.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "services/base/text.h"

namespace eidolon::controller::job {

using base::Result;
using nlohmann::json;

namespace {

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// Letters, digits, '-', '_' and '.', of keys also '/': what labels are made of.
bool IsWord(std::string_view text, bool is_key) {
  return std::ranges::all_of(text, [is_key](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           (is_key && c == '/');
  });
}

std::unexpected<base::Error> NotUnderstood(std::string_view text) {
  constexpr std::size_t kShownMax = 100;
  return base::Fail(
      base::ErrorCode::kInvalidArgument,
      base::StrCat("the label selector's '", text.substr(0, kShownMax),
                   "' is not understood; requirements look like 'team=a', "
                   "'team!=a', 'team', '!team', 'team in (a, b)' or 'team notin (a)'"));
}

// Splits at commas that stand in no brackets.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

}  // namespace

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (Trimmed(text).empty()) return selector;
  for (const std::string_view part : Parts(text)) {
    auto requirement = ParseOne(Trimmed(part));
    if (!requirement) return std::unexpected(requirement.error());
    selector.requirements_.push_back(std::move(*requirement));
  }
  return selector;
}

Result<LabelSelector::Requirement> LabelSelector::ParseOne(std::string_view text) {
  Requirement read;
  std::string_view key = text;
  std::string_view values;
  bool has_list = false;
  if (const std::size_t at = text.find('='); at != text.npos) {
    const bool differs = at > 0 && text[at - 1] == '!';
    read.op = differs ? Operator::kNotIn : Operator::kIn;
    key = text.substr(0, differs ? at - 1 : at);
    values = text.substr(at + 1);
    if (!differs && values.starts_with('=')) values.remove_prefix(1);
  } else if (const std::size_t open = text.find('('); open != text.npos && text.ends_with(')')) {
    const std::string_view head = Trimmed(text.substr(0, open));
    const std::size_t space = head.rfind(' ');
    const std::string_view word = space == head.npos ? head : head.substr(space + 1);
    if (space == head.npos || (word != "in" && word != "notin")) return NotUnderstood(text);
    read.op = word == "in" ? Operator::kIn : Operator::kNotIn;
    key = head.substr(0, space);
    values = text.substr(open + 1, text.size() - open - 2);
    has_list = true;
  } else if (text.starts_with('!')) {
    read.op = Operator::kDoesNotExist;
    key = text.substr(1);
  }
  key = Trimmed(key);
  if (key.empty() || !IsWord(key, /*is_key=*/true)) return NotUnderstood(text);
  read.key = key;
  if (read.op == Operator::kExists || read.op == Operator::kDoesNotExist) return read;
  for (const std::string_view value : base::Split(values, ',')) {
    const std::string_view word = Trimmed(value);
    if (!IsWord(word, /*is_key=*/false) || (has_list && word.empty())) return NotUnderstood(text);
    read.values.emplace_back(word);
  }
  return read;
}

bool LabelSelector::Matches(const json& object) const {
  static const json::json_pointer kLabels("/metadata/labels");
  const bool is_labelled = object.is_object() && object.contains(kLabels);
  const json labels = is_labelled ? object.at(kLabels) : json::object();
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    const auto found = labels.is_object() ? labels.find(requirement.key) : labels.end();
    const bool exists = found != labels.end() && found->is_string();
    const auto is_value = [&] {
      return exists && std::ranges::find(requirement.values, found->get<std::string>()) !=
                           requirement.values.end();
    };
    switch (requirement.op) {
      case Operator::kIn:
        return is_value();
      case Operator::kNotIn:
        return !is_value();
      case Operator::kExists:
        return exists;
      case Operator::kDoesNotExist:
        return !exists;
    }
    return false;
  });
}

}  // namespace eidolon::controller::job
