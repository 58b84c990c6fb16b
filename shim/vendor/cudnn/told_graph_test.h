// Reads the agent's description of a graph.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "services/contract/workload/dnn_nodes.h"
#include "services/contract/workload/work.h"
#include "shim/core/fake_agent.h"
#include "shim/vendor/library/submitted_work.h"

namespace eidolon::shim::cudnn {

struct Graph {
  workload::DnnGraph header;
  std::vector<workload::DnnTensor> tensors;
  std::vector<workload::DnnOperation> operations;
  std::vector<std::byte> nodes;
};

// Types of the descriptors that a graph brings, in their order.
inline std::vector<std::uint32_t> NodeTypes(const Graph& graph) {
  std::vector<std::uint32_t> types;
  for (const std::byte *at = graph.nodes.data(), *end = at + graph.nodes.size(); at < end;) {
    workload::DnnNodeHead node;
    std::memcpy(&node, at, sizeof(node));
    at += sizeof(node);
    for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
      workload::DnnAttributeHead attribute;
      std::memcpy(&attribute, at, sizeof(attribute));
      at += sizeof(attribute) + attribute.element_bytes +
            sizeof(std::uint32_t) * attribute.reference_count;
    }
    types.push_back(node.type);
  }
  return types;
}

// The last one that was launched.
inline Graph LastGraphOf(core::FakeAgent& agent) {
  const auto works = library::LaunchedWork(agent);
  EXPECT_FALSE(works.empty());
  if (works.empty()) return {};
  Graph graph{library::As<workload::DnnGraph>(works.back()), {}, {}, {}};
  graph.tensors.resize(graph.header.tensor_count);
  graph.operations.resize(graph.header.operation_count);
  const std::byte* at = works.back().data() + sizeof(graph.header);
  std::memcpy(graph.tensors.data(), at, graph.tensors.size() * sizeof(workload::DnnTensor));
  at += graph.tensors.size() * sizeof(workload::DnnTensor);
  std::memcpy(graph.operations.data(), at,
              graph.operations.size() * sizeof(workload::DnnOperation));
  at += graph.operations.size() * sizeof(workload::DnnOperation);
  graph.nodes.assign(at, at + graph.header.node_bytes);
  return graph;
}

}  // namespace eidolon::shim::cudnn
