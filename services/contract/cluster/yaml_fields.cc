// The text comes from a user, so its size, values and scalars are bounded before yaml-cpp sees it,
// and its exceptions end in ReadYaml. Only the first complaint is kept: later ones are often its
// consequences. Every question about a field notes its name, and Finish then finds the fields that
// nobody asked for, so no list of known names can become outdated. Numbers are read as doubles,
// which hold whole numbers exactly up to 2^53.
#include "services/contract/cluster/yaml_fields.h"

#include <cmath>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "services/base/text.h"
#include "services/base/yaml/bounded.h"

namespace eidolon::cluster {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

// Whole numbers beyond 2^53 would not be those that were written.
constexpr double kWholeMax = 9e15;

}  // namespace

YamlFields::YamlFields(const YAML::Node& node, std::string path,
                       std::optional<base::Error>& complaint)
    : node_(node), path_(std::move(path)), complaint_(complaint) {
  if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap()) Report("", "is not a mapping");
  if (node_.IsMap()) CheckNames();
}

void YamlFields::CheckNames() {
  std::set<std::string> names;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar()) return Report("", "has a field whose name is not a word");
    if (!names.insert(entry.first.Scalar()).second) {
      return Report(entry.first.Scalar(), "is given twice");
    }
  }
}

void YamlFields::Report(std::string_view field, std::string what) {
  if (complaint_) return;
  complaint_ =
      base::Error{ErrorCode::kInvalidArgument,
                  StrCat(path_, path_.empty() || field.empty() ? "" : ".", field, " ", what)};
}

void YamlFields::ReportText(std::string_view name, const std::string& text, std::string_view why) {
  Report(name, StrCat("is '", text, "', which is ", why));
}

YAML::Node YamlFields::Take(std::string_view name) {
  const std::string field(name);
  seen_.insert(field);
  if (!node_.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  return node_[field];
}

std::optional<std::string> YamlFields::Scalar(std::string_view name) {
  const YAML::Node child = Take(name);
  if (!child.IsDefined() || child.IsNull()) return std::nullopt;
  if (child.IsScalar()) return child.Scalar();
  Report(name, "must be a single value");
  return std::nullopt;
}

bool YamlFields::Has(std::string_view name) {
  const YAML::Node child = Take(name);
  return child.IsDefined() && !child.IsNull();
}

bool YamlFields::Is(std::string_view name, std::string_view text) {
  const YAML::Node child = Take(name);
  return child.IsDefined() && child.IsScalar() && child.Scalar() == text;
}

std::string YamlFields::Text(std::string_view name, std::string otherwise) {
  return Scalar(name).value_or(std::move(otherwise));
}

std::string YamlFields::Choice(std::string_view name, const std::vector<std::string>& allowed,
                               std::string otherwise) {
  const auto text = Scalar(name);
  if (!text) return otherwise;
  for (const std::string& known : allowed) {
    if (known == *text) return *text;
  }
  const auto nearest = base::NearestName(*text, allowed);
  Report(name, StrCat("is '", *text, "'", nearest ? StrCat(", did you mean ", *nearest, "?") : ";",
                      " known are ", base::Join(allowed, ", ")));
  return otherwise;
}

std::int64_t YamlFields::Integer(std::string_view name, IntegerRule rule, std::int64_t otherwise) {
  const auto text = Scalar(name);
  if (!text) return otherwise;
  const auto number = base::ParseNumber(*text);
  if (!number) {
    Report(name, StrCat("is '", *text, "', which is not a number"));
    return otherwise;
  }
  const bool whole = std::abs(*number) < kWholeMax && *number == std::floor(*number);
  if (whole && *number >= static_cast<double>(rule.min) &&
      *number <= static_cast<double>(rule.max)) {
    return static_cast<std::int64_t>(*number);
  }
  Report(name,
         StrCat("is '", *text, "'; it must be a whole number from ", rule.min, " to ", rule.max));
  return otherwise;
}

double YamlFields::Number(std::string_view name, NumberRule rule, double otherwise) {
  const auto text = Scalar(name);
  if (!text) return otherwise;
  const auto number = base::ParseNumber(*text);
  if (!number) {
    Report(name, StrCat("is '", *text, "', which is not a number"));
    return otherwise;
  }
  const bool above = rule.min_excluded ? *number > rule.min : *number >= rule.min;
  if (above && *number <= rule.max) return *number;
  Report(name,
         StrCat("is '", *text, "'; it must be ", rule.min_excluded ? "above " : "a number from ",
                rule.min, rule.min_excluded ? " and at most " : " to ", rule.max));
  return otherwise;
}

bool YamlFields::Bool(std::string_view name, bool otherwise) {
  const auto text = Scalar(name);
  if (!text) return otherwise;
  if (*text == "true" || *text == "false") return *text == "true";
  Report(name, StrCat("is '", *text, "'; it must be true or false"));
  return otherwise;
}

std::optional<YAML::Node> YamlFields::List(std::string_view name, std::size_t most) {
  const YAML::Node list = Take(name);
  if (!list.IsDefined()) return std::nullopt;
  if (!list.IsSequence()) {
    Report(name, "must be a list");
  } else if (list.size() > most) {
    Report(name, StrCat("has ", list.size(), " entries; at most ", most));
  } else {
    return list;
  }
  return std::nullopt;
}

std::vector<std::string> YamlFields::TextList(std::string_view name, std::size_t most) {
  std::vector<std::string> texts;
  const auto list = List(name, most);
  if (!list) return texts;
  for (const YAML::Node& entry : *list) {
    if (!entry.IsScalar()) {
      Report(name, "must hold names, each once");
      return texts;
    }
    texts.push_back(entry.Scalar());
  }
  return texts;
}

std::vector<std::uint32_t> YamlFields::IntegerList(std::string_view name, IntegerRule rule,
                                                   std::size_t most) {
  std::vector<std::uint32_t> numbers;
  const auto list = List(name, most);
  if (!list) return numbers;
  for (const YAML::Node& entry : *list) {
    const auto number = entry.IsScalar() ? base::ParseInteger(entry.Scalar()) : std::nullopt;
    if (!number || *number < rule.min || *number > rule.max) {
      Report(name, StrCat("must hold whole numbers from ", rule.min, " to ", rule.max));
      return numbers;
    }
    numbers.push_back(static_cast<std::uint32_t>(*number));
  }
  return numbers;
}

void YamlFields::ForEachObject(std::string_view name, std::size_t most,
                               const std::function<void(Fields&)>& visit) {
  const auto list = List(name, most);
  if (!list) return;
  std::size_t at = 0;
  for (const YAML::Node& entry : *list) {
    YamlFields fields(entry, StrCat(path_, path_.empty() ? "" : ".", name, "[", at++, "]"),
                      complaint_);
    visit(fields);
    if (complaint_) return;  // Only the first is told.
  }
}

std::unique_ptr<Fields> YamlFields::Object(std::string_view name) {
  const YAML::Node child = Take(name);
  if (!child.IsDefined() || child.IsNull()) return nullptr;
  auto fields = std::make_unique<YamlFields>(child, StrCat(path_, path_.empty() ? "" : ".", name),
                                             complaint_);
  if (!child.IsMap()) return nullptr;
  return fields;
}

// Names that the mapping has and nobody asked for, with the nearest known one.
void YamlFields::Finish() {
  if (!node_.IsMap()) return;
  const std::vector<std::string> known(seen_.begin(), seen_.end());
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar() || seen_.contains(entry.first.Scalar())) continue;
    const auto nearest = base::NearestName(entry.first.Scalar(), known);
    Report(entry.first.Scalar(),
           nearest ? StrCat("is unknown; did you mean ", *nearest, "?") : "is unknown");
  }
}

Result<void> ReadYaml(std::string_view text, const std::function<void(Fields&)>& read) {
  constexpr yaml::Bounds kBounds = {
      .text_bytes_max = 8u << 20, .values_max = 200'000, .scalars_bytes_max = 16u << 20};
  if (auto within = yaml::CheckBounds(text, kBounds); !within) {
    return std::unexpected(within.error());
  }
  // yaml-cpp speaks by exceptions; they end here.
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) return Fail(ErrorCode::kInvalidArgument, "the document is not a mapping");
    std::optional<base::Error> complaint;
    YamlFields fields(root, "", complaint);
    read(fields);
    if (complaint) return std::unexpected(*complaint);
    return {};
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument, error.what());
  }
}

}  // namespace eidolon::cluster
