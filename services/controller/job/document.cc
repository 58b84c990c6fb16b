#include "services/controller/job/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "services/base/text.h"
#include "services/controller/job/utf8.h"

namespace eidolon::controller::job {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using nlohmann::json;

constexpr int kDepthMax = 64;
constexpr std::size_t kNodesMax = 100'000;

// Thrown through the parsers' call-backs and caught in this file.
struct Refusal {
  std::string message;
};

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
    if (depth > kDepthMax) throw Refusal{StrCat("nested deeper than ", kDepthMax, " levels")};
    if (++nodes_ > kNodesMax) throw Refusal{StrCat("more than ", kNodesMax, " values")};
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key) {
      const auto key = parsed.get<std::string>();
      if (!keys_.back().insert(key).second) throw Refusal{"the key '" + key + "' occurs twice"};
    }
    return true;
  }

 private:
  std::size_t nodes_ = 0;
  std::vector<std::set<std::string>> keys_;
};

json ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?" && node.Tag() != "") return text;  // Quoted, block or tagged: text.
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  std::string_view unsigned_text = text;
  if (text.starts_with('+')) unsigned_text.remove_prefix(1);
  if (const auto integer = base::ParseInteger(unsigned_text)) return *integer;
  if (const auto number = base::ParseNumber(unsigned_text)) return *number;
  return text;
}

class YamlConverter {
 public:
  json Convert(const YAML::Node& node, int depth) {
    if (depth > kDepthMax) throw Refusal{StrCat("nested deeper than ", kDepthMax, " levels")};
    if (++nodes_ > kNodesMax) {
      throw Refusal{StrCat("more than ", kNodesMax, " values after resolving aliases")};
    }
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return ScalarToJson(node);
      case YAML::NodeType::Sequence:
        return ConvertSequence(node, depth);
      case YAML::NodeType::Map:
        return ConvertMap(node, depth);
      default:
        return {};
    }
  }

 private:
  json ConvertSequence(const YAML::Node& node, int depth) {
    json list = json::array();
    for (const auto& entry : node) list.push_back(Convert(entry, depth + 1));
    return list;
  }

  json ConvertMap(const YAML::Node& node, int depth) {
    json object = json::object();
    for (const auto& entry : node) {
      const int line = entry.first.Mark().line + 1;
      if (!entry.first.IsScalar()) throw Refusal{StrCat("line ", line, ": a key must be text")};
      const std::string& key = entry.first.Scalar();
      if (object.contains(key)) {
        throw Refusal{StrCat("line ", line, ": the key '", key, "' occurs twice")};
      }
      object[key] = Convert(entry.second, depth + 1);
    }
    return object;
  }

  std::size_t nodes_ = 0;
};

// yaml-cpp recurses with its input; deep flow nesting is refused before it starts.
std::optional<base::Error> CheckFlowDepth(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > 4 * kDepthMax) {
      return base::Error{ErrorCode::kInvalidArgument, "the document is nested too deeply"};
    }
  }
  return std::nullopt;
}

// Watches yaml-cpp's events before it builds anything: depth, number of values, and documents that
// take nothing from the text, which it would otherwise find again and again without end (",").
class YamlGuard final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (mark.pos == document_start_) {
      throw Refusal{
          StrCat("line ", mark.line + 1, ", column ", mark.column + 1, ": a value was expected")};
    }
    document_start_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override { Count(); }
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override { Count(); }
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {
    Count();
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Enter();
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Enter();
  }
  void OnMapEnd() override { --depth_; }

 private:
  void Enter() {
    Count();
    if (++depth_ > kDepthMax) throw Refusal{StrCat("nested deeper than ", kDepthMax, " levels")};
  }
  void Count() {
    // Keys are counted too.
    if (++nodes_ > 2 * kNodesMax) throw Refusal{StrCat("more than ", kNodesMax, " values")};
  }

  int document_start_ = -1;
  int depth_ = 0;
  std::size_t nodes_ = 0;
};

void CheckYaml(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  YamlGuard guard;
  while (parser.HandleNextDocument(guard)) {
  }
}

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
    YAML::Node plain;
    plain = text;
    plain.SetTag("?");
    if (!ScalarToJson(plain).is_string()) out << YAML::DoubleQuoted;
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
  } catch (const Refusal& refusal) {
    return Fail(ErrorCode::kInvalidArgument, "not acceptable JSON: " + refusal.message);
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("not valid JSON: ", error.what()));
  }
}

Result<std::vector<json>> ParseYaml(std::string_view text) {
  if (auto error = CheckText(text)) return std::unexpected(*error);
  if (auto error = CheckFlowDepth(text)) return std::unexpected(*error);
  try {
    const std::string whole(text);
    CheckYaml(whole);
    std::vector<json> documents;
    for (const YAML::Node& node : YAML::LoadAll(whole)) {
      json document = YamlConverter().Convert(node, 0);
      if (!document.is_null()) documents.push_back(std::move(document));
    }
    return documents;
  } catch (const Refusal& refusal) {
    return Fail(ErrorCode::kInvalidArgument, "not acceptable YAML: " + refusal.message);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("not valid YAML: line ", error.mark.line + 1, ", column ",
                       error.mark.column + 1, ": ", error.msg));
  }
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
