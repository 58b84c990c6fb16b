// A search fills in the fields in which a layout and a cluster are described. Everywhere else a
// placeholder of a parameter is an error: a field that stayed as it is written would silently be
// the same for all points. A parameter of several values that is used nowhere is an error as well,
// since it would run the same job again and again; one of a single value is a constant of
// constraints.
#include "services/controller/search/fill.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "services/base/text.h"
#include "services/controller/job/fields.h"

namespace eidolon::controller::search {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr std::array<std::string_view, 6> kFilled = {
    "command", "env", "cluster", "servers", "ranksPerServer", "iterations"};
constexpr std::array<std::string_view, 2> kTexts = {"command", "env"};
constexpr char kFilledText[] = "command, env, cluster, servers, ranksPerServer and iterations";

// A part of a text: written as it is, or the name of a placeholder.
struct Part {
  std::string text;
  bool is_name = false;
};

// "${" without an end stands for itself.
std::vector<Part> PartsOf(std::string_view text) {
  std::vector<Part> parts;
  std::string plain;
  while (!text.empty()) {
    if (text.starts_with("$${")) {
      plain += "${";
      text.remove_prefix(3);
      continue;
    }
    const std::size_t end = text.starts_with("${") ? text.find('}') : text.npos;
    if (end == text.npos) {
      plain += text.front();
      text.remove_prefix(1);
      continue;
    }
    if (!plain.empty()) parts.push_back({std::exchange(plain, ""), false});
    parts.push_back({std::string(text.substr(2, end - 2)), true});
    text.remove_prefix(end + 1);
  }
  if (!plain.empty()) parts.push_back({plain, false});
  return parts;
}

// Calls `visit` for each text below `node`. Documents are not nested deeper than their parser lets
// them be.
void VisitTexts(const json& node, const std::string& pointer,
                const std::function<void(const std::string& text, const std::string& at)>& visit) {
  if (node.is_string()) visit(node.get_ref<const std::string&>(), pointer);
  if (!node.is_structured()) return;
  std::size_t index = 0;
  for (const auto& [key, below] : node.items()) {
    const std::string name = node.is_array() ? StrCat("/", index++) : job::PointerTo(key);
    VisitTexts(below, pointer + name, visit);
  }
}

json FilledText(const std::string& text, const sweep::SweepPoint& values, bool is_typed) {
  const std::vector<Part> parts = PartsOf(text);
  std::string filled;
  for (const Part& part : parts) {
    const auto found = std::ranges::find(values, part.text, &sweep::SweepPoint::value_type::first);
    if (!part.is_name) {
      filled += part.text;
    } else if (found == values.end()) {
      filled += StrCat("${", part.text, "}");
    } else if (is_typed && parts.size() == 1) {
      return found->second;
    } else {
      filled += sweep::TextOf(found->second);
    }
  }
  return filled;
}

void Fill(json* node, const sweep::SweepPoint& values, bool is_typed) {
  if (node->is_string()) {
    *node = FilledText(node->get_ref<const std::string&>(), values, is_typed);
  } else if (node->is_structured()) {
    for (json& below : *node) Fill(&below, values, is_typed);
  }
}

}  // namespace

void CheckPlaceholders(const json& job, const std::string& pointer, const Space& space,
                       std::span<const std::string> used_otherwise, job::Problems* problems) {
  std::vector<std::string> parameters;
  for (const auto& [name, values] : space) parameters.push_back(name);
  std::set<std::string> used(used_otherwise.begin(), used_otherwise.end());
  for (const auto& [field, value] : job.items()) {
    const bool is_filled = std::ranges::find(kFilled, field) != kFilled.end();
    VisitTexts(value, pointer + job::PointerTo(field), [&](const auto& text, const auto& at) {
      for (const Part& part : PartsOf(text)) {
        if (!part.is_name) continue;
        const bool is_known = std::ranges::find(parameters, part.text) != parameters.end();
        if (is_known) used.insert(part.text);
        if (is_known && !is_filled) {
          problems->push_back({at, StrCat("has ${", part.text,
                                          "}, and values are filled in only in ", kFilledText)});
        } else if (!is_known && is_filled) {
          std::string hint = job::DidYouMean(part.text, parameters);
          problems->push_back(
              {at, StrCat("'", part.text, "' is not a parameter of space", hint.empty() ? "" : hint,
                          "; write $${", part.text, "} for the text ${", part.text, "}")});
        }
      }
    });
  }
  const std::size_t slash = pointer.rfind('/');
  for (const auto& [name, values] : space) {
    if (used.contains(name) || values.size() < 2) continue;
    problems->push_back(
        {StrCat(pointer.substr(0, slash), "/space", job::PointerTo(name)),
         StrCat("is used nowhere in the job: write ${", name, "} in one of ", kFilledText)});
  }
}

bool IsNamed(const json& job, const std::string& parameter) {
  bool is_named = false;
  for (const std::string_view field : kFilled) {
    const auto found = job.find(field);
    if (found == job.end()) continue;
    VisitTexts(*found, "", [&](const auto& text, const auto& /*at*/) {
      for (const Part& part : PartsOf(text)) {
        is_named = is_named || (part.is_name && part.text == parameter);
      }
    });
  }
  return is_named;
}

json FillJob(json job, const sweep::SweepPoint& values) {
  for (const std::string_view field : kFilled) {
    const auto found = job.find(field);
    if (found == job.end()) continue;
    Fill(&*found, values, std::ranges::find(kTexts, field) == kTexts.end());
  }
  return job;
}

}  // namespace eidolon::controller::search
