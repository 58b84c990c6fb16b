// The descriptors of an operation graph as bytes (workload::DnnNodeHead), from which a worker that
// owns a real GPU makes the graph again. Equal graphs have equal bytes: descriptors of equal
// content are one node, and tensors have the numbers of the work instead of the program's
// identifiers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shim/vendor/cudnn/graph_work.h"
#include "shim/vendor/cudnn/node.h"

namespace eidolon::shim::cudnn {

// A place for what the program gives at execution for a tensor that is passed by value.
struct ValueSlot {
  std::int64_t uid = 0;    // The program's identifier.
  std::size_t offset = 0;  // Of its 4 bytes.
};

class GraphNodes {
 public:
  // `work` holds the graph's tensors and outlives this.
  explicit GraphNodes(const GraphWork& work) : work_(work) {}

  // Adds the graph and all that it refers to. False when it is deeper or larger than any graph
  // that a library would take; the bytes are then of no use.
  bool Add(const Node& graph);

  const std::string& bytes() const { return bytes_; }
  const std::vector<ValueSlot>& values() const { return values_; }

 private:
  bool AddNode(const Node& node, int depth, std::uint32_t* index);
  void AppendElements(const Node& node, cudnnBackendAttributeName_t name,
                      const Attribute& attribute, std::string& out);
  std::int64_t NumberOf(std::int64_t uid);

  const GraphWork& work_;
  std::map<const Node*, std::uint32_t> visited_;
  std::map<std::string, std::uint32_t> by_content_;
  std::map<std::int64_t, std::int64_t> more_numbers_;  // Of tensors that no operation names.
  std::string bytes_;
  std::vector<ValueSlot> values_;
};

}  // namespace eidolon::shim::cudnn
