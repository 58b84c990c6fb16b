// The code that reads a document is its schema: asking for a field declares it, and Finish reports
// the rest as unknown. There is no second list of names that could differ. A reader must therefore
// ask for every field it knows, even where the value has no use in this mode. Positions are JSON
// pointers (RFC 6901), which the API returns to clients. The number of problems is bounded, because
// a document of unknown fields would otherwise give an answer many times its size.
#include "services/controller/job/fields.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;
using nlohmann::json;

constexpr std::size_t kProblemsMax = 100;
constexpr std::size_t kShownTextMax = 60;

void Add(Problems* problems, std::string pointer, std::string detail) {
  if (problems->size() >= kProblemsMax) return;
  problems->push_back({std::move(pointer), std::move(detail)});
}

// Numbers as people write them: 400, 0.5.
std::string Plain(double value) { return StrCat(value); }

}  // namespace

std::string DescribeValue(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "a list";
    case json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      if (text.size() <= kShownTextMax) return "'" + text + "'";
      return "'" + text.substr(0, kShownTextMax) + "...'";
    }
    default:
      return value.dump();
  }
}

std::string PointerTo(std::string_view name) {
  std::string token = "/";
  for (const char c : name) {
    if (c == '~') {
      token += "~0";
    } else if (c == '/') {
      token += "~1";
    } else {
      token += c;
    }
  }
  return token;
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& names) {
  const auto nearest = base::NearestName(word, names);
  return nearest ? ", did you mean '" + *nearest + "'?" : "";
}

std::string DidYouMeanOneOf(std::string_view word, const std::vector<std::string>& names) {
  const auto lower = [](std::string_view text) {
    std::string result(text);
    for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return result;
  };
  const std::string wanted = lower(word);
  std::vector<std::string> family, lowered;
  for (const std::string& name : names) {
    lowered.push_back(lower(name));
    const std::string& text = lowered.back();
    const auto parts = base::Split(text, '-');
    const bool is_part = std::ranges::find(parts, wanted) != parts.end();
    if (!wanted.empty() && (is_part || text.starts_with(wanted))) family.push_back(name);
  }
  if (!family.empty()) return ", did you mean '" + base::Join(family, "' or '") + "'?";
  const auto nearest = base::NearestName(wanted, lowered);
  if (!nearest) return "";
  const auto at = std::ranges::find(lowered, *nearest) - lowered.begin();
  return ", did you mean '" + names[static_cast<std::size_t>(at)] + "'?";
}

Fields::Fields(const json& object, std::string pointer, Problems* problems)
    : object_(object), pointer_(std::move(pointer)), problems_(problems) {
  CHECK(object.is_object());
}

const json* Fields::Find(std::string_view name) {
  if (std::find(known_.begin(), known_.end(), name) == known_.end()) known_.emplace_back(name);
  const auto found = object_.find(name);
  if (found == object_.end() || found->is_null()) return nullptr;
  return &*found;
}

void Fields::Report(std::string_view name, std::string detail) {
  Add(problems_, pointer_ + PointerTo(name), std::move(detail));
}

std::string Fields::Text(std::string_view name, std::string otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    auto text = value->get<std::string>();
    if (text.find('\0') == std::string::npos) return text;
    Report(name, "must not contain a NUL character");
    return otherwise;
  }
  Report(name, "must be text, not " + DescribeValue(*value));
  return otherwise;
}

std::string Fields::Choice(std::string_view name, const std::vector<std::string>& allowed,
                           std::string otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_string()) {
    auto text = value->get<std::string>();
    if (std::find(allowed.begin(), allowed.end(), text) != allowed.end()) return text;
    std::string hint = DidYouMean(text, allowed);
    if (hint.empty()) hint = " is not known.";
    Report(name, StrCat(DescribeValue(*value), hint, " Allowed: ", base::Join(allowed, ", ")));
    return otherwise;
  }
  Report(name,
         StrCat("must be one of ", base::Join(allowed, ", "), ", not ", DescribeValue(*value)));
  return otherwise;
}

std::int64_t Fields::Integer(std::string_view name, IntegerRule rule, std::int64_t otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  const bool fits = value->is_number_integer() &&
                    !(value->is_number_unsigned() &&
                      value->get<std::uint64_t>() > static_cast<std::uint64_t>(rule.max));
  if (fits) {
    const auto number = value->get<std::int64_t>();
    if (number >= rule.min && number <= rule.max) return number;
  }
  Report(name, StrCat("must be a whole number from ", rule.min, " to ", rule.max, ", not ",
                      DescribeValue(*value)));
  return otherwise;
}

double Fields::Number(std::string_view name, NumberRule rule, double otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_number()) {
    const auto number = value->get<double>();
    const bool above = rule.min_excluded ? number > rule.min : number >= rule.min;
    if (above && number <= rule.max) return number;
  }
  Report(name, StrCat("must be a number ", rule.min_excluded ? "above " : "from ", Plain(rule.min),
                      rule.min_excluded ? " and at most " : " to ", Plain(rule.max), ", not ",
                      DescribeValue(*value)));
  return otherwise;
}

bool Fields::Bool(std::string_view name, bool otherwise) {
  const json* value = Find(name);
  if (value == nullptr) return otherwise;
  if (value->is_boolean()) return value->get<bool>();
  Report(name, "must be true or false, not " + DescribeValue(*value));
  return otherwise;
}

std::vector<std::string> Fields::TextList(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    Report(name, "must be a list of texts, not " + DescribeValue(*value));
    return {};
  }
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const json& entry = (*value)[i];
    if (entry.is_string() && entry.get_ref<const std::string&>().find('\0') == std::string::npos) {
      texts.push_back(entry.get<std::string>());
      continue;
    }
    Add(problems_, StrCat(pointer_, PointerTo(name), "/", i),
        entry.is_string() ? "must not contain a NUL character"
                          : "must be text (quote it), not " + DescribeValue(entry));
  }
  return texts;
}

std::vector<std::uint32_t> Fields::IntegerList(std::string_view name, IntegerRule rule) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    Report(name, "must be a list of whole numbers, not " + DescribeValue(*value));
    return {};
  }
  std::vector<std::uint32_t> numbers;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const json& entry = (*value)[i];
    const auto number = entry.is_number_integer() ? entry.get<std::int64_t>() : rule.min - 1;
    if (number >= rule.min && number <= rule.max) {
      numbers.push_back(static_cast<std::uint32_t>(number));
      continue;
    }
    Add(problems_, StrCat(pointer_, PointerTo(name), "/", i),
        StrCat("must be a whole number from ", rule.min, " to ", rule.max, ", not ",
               DescribeValue(entry)));
  }
  return numbers;
}

std::optional<Fields> Fields::Object(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_object()) return Fields(*value, pointer_ + PointerTo(name), problems_);
  Report(name, "must be an object, not " + DescribeValue(*value));
  return std::nullopt;
}

std::vector<Fields> Fields::ObjectList(std::string_view name) {
  const json* value = Find(name);
  if (value == nullptr) return {};
  if (!value->is_array()) {
    Report(name, "must be a list, not " + DescribeValue(*value));
    return {};
  }
  std::vector<Fields> readers;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const std::string pointer = StrCat(pointer_, PointerTo(name), "/", i);
    if ((*value)[i].is_object()) {
      readers.emplace_back((*value)[i], pointer, problems_);
    } else {
      Add(problems_, pointer, "must be an object, not " + DescribeValue((*value)[i]));
    }
  }
  return readers;
}

void Fields::Finish() {
  for (const auto& [name, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    std::string hint = DidYouMean(name, known_);
    if (hint.empty()) hint = ".";
    Report(name, StrCat("unknown field", hint, " Allowed: ", base::Join(known_, ", ")));
  }
}

}  // namespace eidolon::controller::job
