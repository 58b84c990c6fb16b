// Limits are enforced while a text is parsed and not on the finished tree, which for a few
// kilobytes of aliases or brackets may already have filled the memory. Both parsers report events
// here: nlohmann's through a callback that throws, yaml-cpp's through a handler that builds the
// tree. An alias copies its value, so every copy counts. ToYaml quotes exactly those texts that
// ScalarToJson would take for something else, which makes a document survive being written and
// read.
#include "services/controller/job/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "services/base/text.h"
#include "services/base/yaml/bounded.h"
#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using nlohmann::json;

// A job has some hundred values, a large one some ten thousand.
constexpr yaml::Bounds kBounds = {.text_bytes_max = kDocumentBytesMax};

std::optional<base::Error> CheckText(std::string_view text) {
  if (text.size() > kDocumentBytesMax) {
    return base::Error{ErrorCode::kInvalidArgument,
                       StrCat("the document has ", text.size(), " bytes; at most ",
                              kDocumentBytesMax, " are allowed")};
  }
  if (!IsUtf8(text)) {
    return base::Error{ErrorCode::kInvalidArgument, "the document is not UTF-8 text"};
  }
  return std::nullopt;
}

// Watches nlohmann's parser: depth, number of values, keys that occur twice.
class JsonGuard {
 public:
  bool operator()(int depth, json::parse_event_t event, json& parsed) {
    if (depth > static_cast<int>(kBounds.depth_max)) {
      throw yaml::Refusal{StrCat("nested deeper than ", kBounds.depth_max, " levels; nest less")};
    }
    const bool ends =
        event == json::parse_event_t::object_end || event == json::parse_event_t::array_end;
    // The limit of keys is that of values.
    if (!ends && ++nodes_ > 2 * kBounds.values_max) {
      throw yaml::Refusal{StrCat("more than ", kBounds.values_max, " values; write fewer")};
    }
    const bool text = parsed.is_string();
    if (text && parsed.get_ref<const std::string&>().size() > kBounds.scalar_bytes_max) {
      throw yaml::Refusal{
          StrCat("a text of more than ", kBounds.scalar_bytes_max, " bytes: put it into a file")};
    }
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second)
        throw yaml::Refusal{"the key '" + key + "' occurs twice"};
    }
    return true;
  }

 private:
  std::size_t nodes_ = 0;
  std::vector<std::set<std::string>> keys_;
};

// `plain`: neither quoted, nor a block, nor tagged.
json ScalarToJson(const std::string& text, bool plain) {
  if (!plain) return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view unsigned_text = text;
  if (text.starts_with('+') && !text.starts_with("+-")) unsigned_text.remove_prefix(1);
  if (const auto integer = base::ParseInteger(unsigned_text)) return *integer;
  if (const auto number = base::ParseNumber(unsigned_text)) return *number;
  return text;
}

// Builds documents from yaml-cpp's events: its own tree takes a hundred times the text.
class TreeBuilder final : public YAML::EventHandler {
 public:
  std::vector<json> Release() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark&) override {
    open_.clear();
    anchors_.clear();
    root_ = nullptr;
  }
  void OnDocumentEnd() override {
    if (!root_.is_null()) documents_.push_back(std::move(root_));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseKey(mark);
    Add(nullptr, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const json& value = anchors_.at(anchor);
    if (!TakesKey()) return Add(value, 0);
    if (!value.is_string()) RefuseKey(mark);
    SetKey(mark, value.get<std::string>());
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!TakesKey()) return Add(ScalarToJson(text, tag == "?" || tag.empty()), anchor);
    if (anchor != 0) anchors_[anchor] = text;
    SetKey(mark, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    RefuseKey(mark);
    open_.push_back({json::array(), anchor, std::nullopt});
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    RefuseKey(mark);
    open_.push_back({json::object(), anchor, std::nullopt});
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or mapping whose end has not come.
  struct Open {
    json value;
    YAML::anchor_t anchor = 0;
    std::optional<std::string> key;  // Whose value comes next.
  };

  bool TakesKey() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().key;
  }
  void RefuseKey(const YAML::Mark& mark) const {
    if (TakesKey()) throw yaml::Refusal{StrCat("line ", mark.line + 1, ": a key must be text")};
  }
  void SetKey(const YAML::Mark& mark, const std::string& key) {
    if (open_.back().value.contains(key)) {
      throw yaml::Refusal{StrCat("line ", mark.line + 1, ": the key '", key, "' occurs twice")};
    }
    open_.back().key = key;
  }
  void Add(json value, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = value;
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.push_back(std::move(value));
    } else {
      open_.back().value[*open_.back().key] = std::move(value);
      open_.back().key.reset();
    }
  }
  void Close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    Add(std::move(closed.value), closed.anchor);
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, json> anchors_;
  json root_;
  std::vector<json> documents_;
};

void EmitYaml(YAML::Emitter& out, const json& value) {
  if (value.is_object()) {
    out << YAML::BeginMap;
    for (const auto& [key, entry] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      EmitYaml(out, entry);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& entry : value) EmitYaml(out, entry);
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (!ScalarToJson(text, /*plain=*/true).is_string()) out << YAML::DoubleQuoted;
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();
  }
}

}  // namespace

Result<json> ParseJson(std::string_view text) {
  if (auto error = CheckText(text)) return std::unexpected(*error);
  try {
    return json::parse(text, JsonGuard());
  } catch (const yaml::Refusal& refusal) {
    return Fail(ErrorCode::kInvalidArgument, "not acceptable JSON: " + refusal.message);
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("not valid JSON: ", error.what()));
  }
}

Result<std::vector<json>> ParseYaml(std::string_view text) {
  if (auto error = CheckText(text)) return std::unexpected(*error);
  TreeBuilder builder;
  if (auto read = yaml::Read(text, kBounds, &builder); !read) return std::unexpected(read.error());
  return builder.Release();
}

Result<std::vector<json>> ParseDocuments(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument, "the text holds no document");
  }
  if (text[first] == '{') {
    auto document = ParseJson(text);
    if (!document) return std::unexpected(document.error());
    return std::vector<json>{std::move(*document)};
  }
  auto documents = ParseYaml(text);
  if (documents && documents->empty()) {
    return Fail(ErrorCode::kInvalidArgument, "the text holds no document");
  }
  return documents;
}

std::string ToYaml(const json& document) {
  YAML::Emitter out;
  EmitYaml(out, document);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace eidolon::controller::job
