// Reads the fields of one JSON object and collects what is wrong with them. Every field asked for
// counts as known; Finish() reports the others, with the nearest known name. A wrong value is
// reported and the default returned, so that one pass finds all problems of a document.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "services/controller/job/problem.h"

namespace eidolon::controller::job {

struct IntegerRule {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct NumberRule {
  double min = 0;
  double max = 0;
  bool min_excluded = false;
};

// Not thread safe; lives on the stack while a document is read. `object` and `problems` must
// outlive it.
class Fields {
 public:
  // Requires: object.is_object().
  Fields(const nlohmann::json& object, std::string pointer, Problems* problems);

  // The field's value; null and absent fields give nullptr.
  const nlohmann::json* Find(std::string_view name);
  bool Has(std::string_view name) { return Find(name) != nullptr; }

  std::string Text(std::string_view name, std::string otherwise = "");
  // A text out of `allowed`; the first problem names the nearest one.
  std::string Choice(std::string_view name, const std::vector<std::string>& allowed,
                     std::string otherwise);
  std::int64_t Integer(std::string_view name, IntegerRule rule, std::int64_t otherwise);
  double Number(std::string_view name, NumberRule rule, double otherwise);
  bool Bool(std::string_view name, bool otherwise);
  std::vector<std::string> TextList(std::string_view name);
  std::vector<std::uint32_t> IntegerList(std::string_view name, IntegerRule rule);
  // Reader of a nested object; nothing when it is absent or no object.
  std::optional<Fields> Object(std::string_view name);
  // Readers of a list of objects.
  std::vector<Fields> ObjectList(std::string_view name);

  // Accepts a field without looking at it.
  void Ignore(std::string_view name) { Find(name); }
  // Reports a problem of a field of this object.
  void Report(std::string_view name, std::string detail);
  // Reports unknown fields. Call it once, after the last field was asked for.
  void Finish();

  const std::string& pointer() const { return pointer_; }
  // Returns the number of problems of the whole document so far.
  std::size_t ProblemCount() const { return problems_->size(); }
  Problems* problems() const { return problems_; }

 private:
  const nlohmann::json& object_;
  std::string pointer_;
  Problems* problems_;
  std::vector<std::string> known_;
};

// "'text'", "12", "a list": how a value is named in a problem.
std::string DescribeValue(const nlohmann::json& value);

// One token of a JSON pointer, "~" and "/" escaped, with the leading slash.
std::string PointerTo(std::string_view name);

// The nearest of `names` as ", did you mean 'x'?", or nothing.
std::string DidYouMean(std::string_view word, const std::vector<std::string>& names);
// The same for names with parts, such as H100-SXM5-80GB: all that have the word for a part or for
// their beginning, else the nearest one; case does not count.
std::string DidYouMeanOneOf(std::string_view word, const std::vector<std::string>& names);

}  // namespace eidolon::controller::job
