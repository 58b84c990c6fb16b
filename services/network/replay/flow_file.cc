// The file comes from other programs and may be of any size, so each line is checked before the
// next is read: a later step may index by route, link and flow without a test. Numbers are dense
// and in order, which makes a position in a vector out of each and rules out duplicates. A flow can
// wait for smaller numbers only, hence the dependencies have no cycle.
#include "services/network/replay/flow_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "services/base/regular_file.h"
#include "services/base/text.h"

namespace eidolon::network::replay {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::uint64_t kCapacityMax = std::uint64_t{1} << 47;
constexpr std::uint64_t kBytesMax = std::uint64_t{1} << 60;
constexpr std::uint64_t kStartMax = 1'000'000'000'000'000;  // ns.
constexpr std::uint64_t kRouteMax = 64;
constexpr std::uint64_t kNumberMax = std::numeric_limits<std::uint32_t>::max();

// The numbers of one line, first to last.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  Result<std::uint64_t> Number(std::string_view what, std::uint64_t most) {
    const std::string_view word = Word();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
      return Fail(ErrorCode::kCorrupt, StrCat("'", word, "' is not a ", what));
    }
    if (value > most) {
      return Fail(ErrorCode::kCorrupt, StrCat(what, " is ", value, "; at most ", most));
    }
    return value;
  }

  std::string_view Word() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
    const std::string_view word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }

 private:
  std::string_view rest_;
};

class Parser {
 public:
  Result<void> Line(std::string_view line) {
    Fields fields(line.substr(1));
    switch (line.front()) {
      case '#':
        return {};
      case 'V':
        return Version(fields);
      case 'N':
        return Node(fields);
      case 'T':
        return Tree(fields);
      case 'C':
        return Count(fields);
      case 'L':
        return Cable(fields);
      case 'R':
        return Route(fields);
      case 'F':
        return Flow(fields);
      default:
        return Fail(ErrorCode::kCorrupt, StrCat("unknown record '", line.substr(0, 1), "'"));
    }
  }

  // After the last line: as many flows have come as were announced.
  Result<void> CheckCount() const {
    if (!announced_ || *announced_ == file.flows.size()) return {};
    return Fail(ErrorCode::kCorrupt,
                StrCat("flows: ", file.flows.size(), ", announced: ", *announced_));
  }

  FlowFile file;

 private:
  Result<void> Version(Fields& fields) {
    const auto version = fields.Number("version", 1);
    if (!version) return std::unexpected(version.error());
    file.name = fields.Word();
    return {};
  }

  // Nodes only describe the network: routes name their links.
  Result<void> Node(Fields& fields) {
    if (auto next = Expect(fields, "node", nodes_); !next) return next;
    if (fields.Word().empty()) return Fail(ErrorCode::kCorrupt, "a node has no name");
    if (const auto depth = fields.Number("depth", kNumberMax); !depth) {
      return std::unexpected(depth.error());
    }
    const std::string_view kind = fields.Word();
    if (kind != "H" && kind != "S") {
      return Fail(ErrorCode::kCorrupt, StrCat("'", kind, "' is neither H (host) nor S (switch)"));
    }
    ++nodes_;
    return {};
  }

  Result<void> Tree(Fields& fields) {
    if (const auto tree = fields.Number("tree", 1); !tree) return std::unexpected(tree.error());
    return {};
  }

  Result<void> Count(Fields& fields) {
    const auto count = fields.Number("count of all flows", kNumberMax);
    if (!count) return std::unexpected(count.error());
    if (announced_) return Fail(ErrorCode::kCorrupt, "the flows are counted twice");
    announced_ = *count;
    return {};
  }

  // Two nodes: the ends of a cable or of a route.
  Result<void> Ends(Fields& fields) {
    for (int end = 0; end < 2; ++end) {
      const auto node = fields.Number("node", kNumberMax);
      if (!node) return std::unexpected(node.error());
      if (*node >= nodes_) {
        return Fail(ErrorCode::kCorrupt, StrCat("node ", *node, " does not exist"));
      }
    }
    return {};
  }

  // Records are numbered from 0 without gaps.
  Result<void> Expect(Fields& fields, std::string_view what, std::size_t next) {
    const auto number = fields.Number(what, kNumberMax);
    if (!number) return std::unexpected(number.error());
    if (*number != next) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat(what, " ", *number, " comes where ", next, " should"));
    }
    return {};
  }

  Result<void> Cable(Fields& fields) {
    if (auto next = Expect(fields, "cable", file.capacities.size() / 2); !next) return next;
    if (auto ends = Ends(fields); !ends) return ends;
    const auto capacity = fields.Number("capacity", kCapacityMax);
    if (!capacity) return std::unexpected(capacity.error());
    file.capacities.insert(file.capacities.end(), 2, *capacity);
    return {};
  }

  Result<void> Route(Fields& fields) {
    if (auto next = Expect(fields, "route", file.route_begin.size() - 1); !next) return next;
    if (auto ends = Ends(fields); !ends) return ends;
    const auto count = fields.Number("count of links", kRouteMax);
    if (!count) return std::unexpected(count.error());
    if (*count == 0) return Fail(ErrorCode::kCorrupt, "a route has no links");
    for (std::uint64_t at = 0; at < *count; ++at) {
      const auto link = fields.Number("link", kNumberMax);
      if (!link) return std::unexpected(link.error());
      if (*link >= file.capacities.size()) {
        return Fail(ErrorCode::kCorrupt, StrCat("link ", *link, " does not exist"));
      }
      const auto first = file.route_links.begin() + file.route_begin.back();
      if (std::find(first, file.route_links.end(), *link) != file.route_links.end()) {
        return Fail(ErrorCode::kCorrupt, StrCat("the route passes link ", *link, " twice"));
      }
      file.route_links.push_back(static_cast<std::uint32_t>(*link));
    }
    file.route_begin.push_back(static_cast<std::uint32_t>(file.route_links.size()));
    return {};
  }

  Result<void> Flow(Fields& fields) {
    if (auto next = Expect(fields, "flow", file.flows.size()); !next) return next;
    const auto start = fields.Number("start", kStartMax);
    if (!start) return std::unexpected(start.error());
    const auto bytes = fields.Number("size", kBytesMax);
    if (!bytes) return std::unexpected(bytes.error());
    const auto route = fields.Number("route", file.route_begin.size());
    if (!route) return std::unexpected(route.error());
    if (*route + 1 >= file.route_begin.size()) {
      return Fail(ErrorCode::kCorrupt, StrCat("route ", *route, " does not exist"));
    }
    for (std::uint32_t link : file.LinksOf(static_cast<std::uint32_t>(*route))) {
      if (file.capacities[link] == 0) {
        return Fail(ErrorCode::kCorrupt, StrCat("its link ", link, " has no capacity"));
      }
    }
    const auto count = fields.Number("count of flows", file.flows.size());
    if (!count) return std::unexpected(count.error());
    FlowFile::Flow flow{.start_ps = static_cast<std::int64_t>(*start) * 1000,
                        .bytes = *bytes,
                        .route = static_cast<std::uint32_t>(*route),
                        .first_dependency = static_cast<std::uint32_t>(file.dependencies.size()),
                        .dependencies = static_cast<std::uint32_t>(*count)};
    for (std::uint64_t at = 0; at < *count; ++at) {
      const auto before = fields.Number("flow", file.flows.size() - 1);
      if (!before) return std::unexpected(before.error());
      file.dependencies.push_back(static_cast<std::uint32_t>(*before));
    }
    file.flows.push_back(flow);
    return {};
  }

  std::size_t nodes_ = 0;
  std::optional<std::uint64_t> announced_;  // How many flows there are.
};

}  // namespace

Result<FlowFile> ParseFlowFile(std::string_view text) {
  Parser parser;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) continue;
    if (auto parsed = parser.Line(line); !parsed) {
      return base::Wrap(StrCat("line ", number), parsed.error());
    }
  }
  if (auto counted = parser.CheckCount(); !counted) return std::unexpected(counted.error());
  return std::move(parser.file);
}

Result<FlowFile> LoadFlowFile(const std::string& path) {
  const auto text = base::ReadRegularFile(path);
  if (!text) return std::unexpected(text.error());
  auto file = ParseFlowFile(*text);
  if (!file) return base::Wrap(path, file.error());
  return file;
}

}  // namespace eidolon::network::replay
