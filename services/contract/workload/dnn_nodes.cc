// A graph of descriptors becomes a list in which each node refers to earlier ones only: it cannot
// have a cycle, and one pass rebuilds it. Counts in the bytes are not trusted with memory. A vector
// grows with what was really read, so a damaged count ends at the last byte.
#include "services/contract/workload/dnn_nodes.h"

#include <cstring>
#include <utility>

#include "services/base/text.h"

namespace eidolon::workload {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

constexpr std::size_t kNodesMax = 8192;

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
  bool TakeText(std::size_t size, std::string& text) {
    if (bytes_.size() < size) return false;
    text.assign(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

bool ReadAttribute(Source& source, std::size_t node, DnnAttribute& attribute) {
  DnnAttributeHead head{};
  if (!source.Take(head) || !source.TakeText(head.element_bytes, attribute.elements)) return false;
  attribute.name = head.name;
  attribute.type = head.type;
  for (std::uint32_t i = 0; i < head.reference_count; ++i) {
    std::uint32_t reference = 0;
    if (!source.Take(reference) || reference >= node) return false;
    attribute.nodes.push_back(reference);
  }
  return true;
}

template <typename T>
void Append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

Result<std::vector<DnnNode>> ReadDnnNodes(std::span<const std::byte> bytes) {
  std::vector<DnnNode> nodes;
  for (Source source(bytes); !source.empty();) {
    if (nodes.size() == kNodesMax) {
      return Fail(ErrorCode::kCorrupt, StrCat("it has more than ", kNodesMax, " nodes"));
    }
    DnnNodeHead head{};
    DnnNode node;
    bool good = source.Take(head);
    node.type = head.type;
    for (std::uint32_t i = 0; good && i < head.attribute_count; ++i) {
      DnnAttribute attribute;
      good = ReadAttribute(source, nodes.size(), attribute);
      node.attributes.push_back(std::move(attribute));
    }
    if (!good) {
      return Fail(ErrorCode::kCorrupt,
                  StrCat("node ", nodes.size(),
                         " ends early or refers to one that does not come before it"));
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

std::string DnnNodeBytes(std::span<const DnnNode> nodes) {
  std::string out;
  for (const DnnNode& node : nodes) {
    Append(out, DnnNodeHead{node.type, static_cast<std::uint32_t>(node.attributes.size())});
    for (const DnnAttribute& attribute : node.attributes) {
      Append(out, DnnAttributeHead{attribute.name, attribute.type,
                                   static_cast<std::uint32_t>(attribute.elements.size()),
                                   static_cast<std::uint32_t>(attribute.nodes.size())});
      out += attribute.elements;
      for (const std::uint32_t index : attribute.nodes) Append(out, index);
    }
  }
  return out;
}

}  // namespace eidolon::workload
