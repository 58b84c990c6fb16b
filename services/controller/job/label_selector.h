// Which objects a request means, by their labels: the words of kubectl and the Kubernetes API.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

namespace eidolon::controller::job {

// Requirements that all must hold; none: every object matches. Immutable.
class LabelSelector {
 public:
  // "a=b, c!=d, e, !f, g in (h, i), j notin (k)"; "==" is "=". An empty text selects all. The error
  // says which requirement is not understood, and what one looks like.
  static base::Result<LabelSelector> Parse(std::string_view text);

  // By `metadata.labels` of a document. "!=" and "notin" also hold where there is no such label, as
  // on Kubernetes.
  bool Matches(const nlohmann::json& object) const;

 private:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;
  };
  static base::Result<Requirement> ParseOne(std::string_view text);

  std::vector<Requirement> requirements_;
};

}  // namespace eidolon::controller::job
