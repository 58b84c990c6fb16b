#include "services/agent/ring/dnn_nodes.h"

#include <cstring>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::ring {

using base::Result;

namespace {

namespace wire = ::eidolon::ring;

// Takes parts off the front of bytes.
class Source {
 public:
  explicit Source(std::span<const std::byte> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  template <typename T>
  bool Take(T& value) {
    if (bytes_.size() < sizeof(T)) return false;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    bytes_ = bytes_.subspan(sizeof(T));
    return true;
  }
  bool TakeSpan(std::size_t size, std::span<const std::byte>& part) {
    if (bytes_.size() < size) return false;
    part = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

bool ReadAttribute(Source& source, std::size_t node, DnnAttributeView& attribute) {
  wire::DnnAttribute header{};
  if (!source.Take(header) || !source.TakeSpan(header.element_bytes, attribute.elements)) {
    return false;
  }
  attribute.name = header.name;
  attribute.type = header.type;
  for (std::uint32_t i = 0; i < header.reference_count; ++i) {
    std::uint32_t reference = 0;
    if (!source.Take(reference) || reference >= node) return false;
    attribute.references.push_back(reference);
  }
  return true;
}

}  // namespace

Result<std::vector<DnnNodeView>> ReadDnnNodes(std::span<const std::byte> bytes) {
  std::vector<DnnNodeView> nodes;
  for (Source source(bytes); !source.empty();) {
    wire::DnnNode header{};
    DnnNodeView node;
    bool good = source.Take(header);
    node.type = header.type;
    for (std::uint32_t i = 0; good && i < header.attribute_count; ++i) {
      DnnAttributeView attribute;
      good = ReadAttribute(source, nodes.size(), attribute);
      node.attributes.push_back(std::move(attribute));
    }
    if (!good) {
      return base::Fail(base::ErrorCode::kCorrupt,
                        base::StrCat("node ", nodes.size(),
                                     " ends early or refers to one that does not come before it"));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace eidolon::agent::ring
