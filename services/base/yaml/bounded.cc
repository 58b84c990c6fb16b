// A text of a few hundred bytes can stand for billions of values when each alias names a list of
// aliases. So nothing is expanded to be counted: a value that has an anchor keeps its weight
// (values, bytes, levels) once it is complete, and an alias adds that weight, whatever it holds. An
// alias within its own value has no weight yet and is refused. Guard counts an event before it
// hands it on, so the handler never builds what leaves the bounds. Counts include keys, which is
// why twice the bound of values is compared. Errors leave as exceptions, because yaml-cpp offers no
// other way out of its recursion; Read and CheckBounds catch them.
#include "services/base/yaml/bounded.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include "services/base/text.h"

namespace eidolon::yaml {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using YAML::anchor_t;
using YAML::Mark;

// yaml-cpp recurses with its input; brackets of this many times the depth are refused before it
// starts.
constexpr std::size_t kBracketsPerLevel = 4;

// Counts events, and hands on those that are within bounds.
class Guard final : public YAML::EventHandler {
 public:
  Guard(const Bounds& bounds, YAML::EventHandler* handler) : bounds_(bounds), handler_(*handler) {}

  void OnDocumentStart(const Mark& mark) override {
    // yaml-cpp finds a document that takes nothing from the text again and again (",").
    if (mark.pos == document_start_) {
      throw Refusal{
          StrCat("line ", mark.line + 1, ", column ", mark.column + 1, ": a value was expected")};
    }
    document_start_ = mark.pos;
    anchors_.clear();
    open_.clear();
    Count(mark, {.values = 1});
    handler_.OnDocumentStart(mark);
  }
  void OnDocumentEnd() override { handler_.OnDocumentEnd(); }
  void OnNull(const Mark& mark, anchor_t anchor) override {
    Leaf(mark, anchor, {.values = 1});
    handler_.OnNull(mark, anchor);
  }
  void OnAlias(const Mark& mark, anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Refuse(mark, "an alias stands inside the value that it names");
    Count(mark, found->second);
    handler_.OnAlias(mark, anchor);
  }
  void OnScalar(const Mark& mark, const std::string& tag, anchor_t anchor,
                const std::string& value) override {
    if (value.size() > bounds_.scalar_bytes_max) {
      Refuse(mark, StrCat("a text of ", value.size(), " bytes; at most ", bounds_.scalar_bytes_max,
                          " are allowed: put it into a file"));
    }
    Leaf(mark, anchor, {.values = 1, .bytes = value.size()});
    handler_.OnScalar(mark, tag, anchor, value);
  }
  void OnSequenceStart(const Mark& mark, const std::string& tag, anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Enter(mark, anchor);
    handler_.OnSequenceStart(mark, tag, anchor, style);
  }
  void OnSequenceEnd() override {
    Leave();
    handler_.OnSequenceEnd();
  }
  void OnMapStart(const Mark& mark, const std::string& tag, anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Enter(mark, anchor);
    handler_.OnMapStart(mark, tag, anchor, style);
  }
  void OnMapEnd() override {
    Leave();
    handler_.OnMapEnd();
  }

 private:
  // Size of a value with aliases resolved.
  struct Weight {
    std::size_t values = 0;  // Keys too.
    std::size_t bytes = 0;
    std::size_t levels = 0;  // Of nesting inside.
  };
  struct Open {
    Mark mark;
    anchor_t anchor = 0;
    Weight before;           // What was counted when it began.
    std::size_t levels = 0;  // Inside, so far.
  };

  [[noreturn]] static void Refuse(const Mark& mark, const std::string& what) {
    throw Refusal{StrCat("line ", mark.line + 1, ": ", what)};
  }

  void Count(const Mark& mark, const Weight& weight) {
    counted_.values += weight.values;
    counted_.bytes += weight.bytes;
    // The limit of keys is that of values.
    if (counted_.values > 2 * bounds_.values_max) {
      Refuse(mark,
             StrCat("more than ", bounds_.values_max,
                    " values after resolving aliases; write fewer, or use several documents"));
    }
    if (counted_.bytes > bounds_.scalars_bytes_max) {
      Refuse(mark, StrCat("more than ", bounds_.scalars_bytes_max,
                          " bytes of text after resolving aliases; write less"));
    }
    if (open_.size() + weight.levels > bounds_.depth_max) {
      Refuse(mark, StrCat("nested deeper than ", bounds_.depth_max, " levels; nest less"));
    }
    if (!open_.empty()) open_.back().levels = std::max(open_.back().levels, weight.levels);
  }
  void Keep(const Mark& mark, anchor_t anchor, const Weight& weight) {
    if (anchor == 0) return;
    anchors_[anchor] = weight;
    Count(mark, {.values = weight.values, .bytes = weight.bytes});
  }
  void Leaf(const Mark& mark, anchor_t anchor, const Weight& weight) {
    Count(mark, weight);
    Keep(mark, anchor, weight);
  }
  void Enter(const Mark& mark, anchor_t anchor) {
    const Weight before = counted_;
    Count(mark, {.values = 1, .levels = 1});
    open_.push_back({mark, anchor, before});
  }
  // A complete value weighs what was counted since it began.
  void Leave() {
    const Open closed = open_.back();
    open_.pop_back();
    const Weight weight = {.values = counted_.values - closed.before.values,
                           .bytes = counted_.bytes - closed.before.bytes,
                           .levels = closed.levels + 1};
    if (!open_.empty()) open_.back().levels = std::max(open_.back().levels, weight.levels);
    Keep(closed.mark, closed.anchor, weight);
  }

  const Bounds& bounds_;
  YAML::EventHandler& handler_;
  int document_start_ = -1;
  Weight counted_;
  std::vector<Open> open_;
  std::map<anchor_t, Weight> anchors_;  // Of values that are complete.
};

class Nobody final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const Mark&, anchor_t) override {}
  void OnAlias(const Mark&, anchor_t) override {}
  void OnScalar(const Mark&, const std::string&, anchor_t, const std::string&) override {}
  void OnSequenceStart(const Mark&, const std::string&, anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const Mark&, const std::string&, anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

std::optional<base::Error> CheckText(std::string_view text, const Bounds& bounds) {
  if (text.size() > bounds.text_bytes_max) {
    return base::Error{ErrorCode::kInvalidArgument,
                       StrCat("the document has ", text.size(), " bytes; at most ",
                              bounds.text_bytes_max, " are allowed")};
  }
  std::size_t depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > kBracketsPerLevel * bounds.depth_max) {
      return base::Error{ErrorCode::kInvalidArgument,
                         StrCat("the document is nested too deeply; at most ", bounds.depth_max,
                                " levels are allowed")};
    }
  }
  return std::nullopt;
}

// Throws what yaml-cpp and the handler throw.
void Pass(std::string_view text, const Bounds& bounds, YAML::EventHandler* handler) {
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  Guard guard(bounds, handler);
  while (parser.HandleNextDocument(guard)) {
  }
}

}  // namespace

Result<void> Read(std::string_view text, const Bounds& bounds, YAML::EventHandler* handler) {
  if (auto error = CheckText(text, bounds)) return std::unexpected(*error);
  try {
    Pass(text, bounds, handler);
    return {};
  } catch (const Refusal& refusal) {
    return Fail(ErrorCode::kInvalidArgument, "not acceptable YAML: " + refusal.message);
  } catch (const YAML::Exception& error) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("not valid YAML: line ", error.mark.line + 1, ", column ",
                       error.mark.column + 1, ": ", error.msg));
  }
}

Result<void> CheckBounds(std::string_view text, const Bounds& bounds) {
  if (auto error = CheckText(text, bounds)) return std::unexpected(*error);
  Nobody nobody;
  try {
    Pass(text, bounds, &nobody);
  } catch (const Refusal& refusal) {
    return Fail(ErrorCode::kInvalidArgument, "not acceptable YAML: " + refusal.message);
  } catch (const YAML::Exception&) {
  }
  return {};
}

}  // namespace eidolon::yaml
