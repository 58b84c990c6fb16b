// Reading the fields of one object of a document, whatever the document is made of. The controller
// reads JSON and reports all problems at once, with pointers; `eidolon net` reads YAML and tells
// the first. What a cluster's fields are called and may hold is said above this, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace eidolon::cluster {

struct IntegerRule {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct NumberRule {
  double min = 0;
  double max = 0;
  bool min_excluded = false;
};

// Every field asked for counts as known. A wrong value is reported and the default returned. Not
// thread safe; lives while a document is read.
class Fields {
 public:
  virtual ~Fields() = default;

  // False for absent fields and null.
  virtual bool Has(std::string_view name) = 0;
  // True when the field is exactly this text.
  virtual bool Is(std::string_view name, std::string_view text) = 0;
  virtual std::string Text(std::string_view name, std::string otherwise) = 0;
  // A text out of `allowed`.
  virtual std::string Choice(std::string_view name, const std::vector<std::string>& allowed,
                             std::string otherwise) = 0;
  virtual std::int64_t Integer(std::string_view name, IntegerRule rule, std::int64_t otherwise) = 0;
  virtual double Number(std::string_view name, NumberRule rule, double otherwise) = 0;
  virtual bool Bool(std::string_view name, bool otherwise) = 0;
  // Lists of at most `most` entries; empty when absent.
  virtual std::vector<std::string> TextList(std::string_view name, std::size_t most) = 0;
  virtual std::vector<std::uint32_t> IntegerList(std::string_view name, IntegerRule rule,
                                                 std::size_t most) = 0;
  virtual void ForEachObject(std::string_view name, std::size_t most,
                             const std::function<void(Fields&)>& visit) = 0;
  // Reader of a nested object; null when it is absent or not an object.
  virtual std::unique_ptr<Fields> Object(std::string_view name) = 0;

  // Reports a problem of a field: "is required".
  virtual void Report(std::string_view name, std::string detail) = 0;
  // The same of a field's text: `why` is "not a switch of the list".
  virtual void ReportText(std::string_view name, const std::string& text, std::string_view why) = 0;
  // Returns the number of problems of the whole document so far.
  virtual std::size_t ProblemCount() const = 0;
  // Reports unknown fields. Call it once, after the last field was asked for.
  virtual void Finish() = 0;
};

}  // namespace eidolon::cluster
