// The fields of a YAML document. The first problem is told, by the field's path:
// "fabric.cables[0].to is 'b', which is not a switch of the list".
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/contract/cluster/fields.h"

namespace eidolon::cluster {

// One mapping. The complaint outlives it and is shared by all mappings of a document.
class YamlFields final : public Fields {
 public:
  YamlFields(const YAML::Node& node, std::string path, std::optional<base::Error>& complaint);

  bool Has(std::string_view name) override;
  bool Is(std::string_view name, std::string_view text) override;
  std::string Text(std::string_view name, std::string otherwise) override;
  std::string Choice(std::string_view name, const std::vector<std::string>& allowed,
                     std::string otherwise) override;
  std::int64_t Integer(std::string_view name, IntegerRule rule, std::int64_t otherwise) override;
  double Number(std::string_view name, NumberRule rule, double otherwise) override;
  bool Bool(std::string_view name, bool otherwise) override;
  std::vector<std::string> TextList(std::string_view name, std::size_t most) override;
  std::vector<std::uint32_t> IntegerList(std::string_view name, IntegerRule rule,
                                         std::size_t most) override;
  void ForEachObject(std::string_view name, std::size_t most,
                     const std::function<void(Fields&)>& visit) override;
  std::unique_ptr<Fields> Object(std::string_view name) override;
  void Report(std::string_view name, std::string detail) override;
  void ReportText(std::string_view name, const std::string& text, std::string_view why) override;
  std::size_t ProblemCount() const override { return complaint_ ? 1 : 0; }
  void Finish() override;

 private:
  void CheckNames();
  YAML::Node Take(std::string_view name);
  std::optional<std::string> Scalar(std::string_view name);
  std::optional<YAML::Node> List(std::string_view name, std::size_t most);

  YAML::Node node_;
  std::string path_;
  std::optional<base::Error>& complaint_;
  std::set<std::string> seen_;
};

// Gives the mapping that the text holds to `read`. Fails with its first complaint, or where the
// text is not YAML or is larger than any description of a cluster.
base::Result<void> ReadYaml(std::string_view text, const std::function<void(Fields&)>& read);

}  // namespace eidolon::cluster
