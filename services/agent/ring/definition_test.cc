#include "services/agent/ring/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "services/agent/ring/dnn_nodes.h"
#include "services/contract/workload/copy_kind.h"

namespace eidolon::agent::ring {
namespace {

using ::testing::HasSubstr;

// A definition in 64-bit words, so that it is aligned.
template <typename Work>
std::vector<std::uint64_t> Words(const Work& work, std::string_view tail = {}) {
  std::vector<std::uint64_t> words((sizeof(work) + tail.size() + 7) / 8);
  std::memcpy(words.data(), &work, sizeof(work));
  if (!tail.empty()) {
    std::memcpy(reinterpret_cast<char*>(words.data()) + sizeof(work), tail.data(), tail.size());
  }
  return words;
}
std::string Complaint(const std::vector<std::uint64_t>& words, std::size_t bytes) {
  const auto result = CheckDefinition(std::as_bytes(std::span(words)).first(bytes));
  return result.has_value() ? "no complaint" : result.error().message;
}

wire::KernelWork Kernel(std::uint32_t name_bytes) {
  wire::KernelWork kernel{};
  kernel.header = {wire::WorkKind::kKernel, static_cast<std::uint32_t>(sizeof(kernel) + 8)};
  kernel.name_bytes = name_bytes;
  return kernel;
}

TEST(DefinitionTest, ReadsAKernelsName) {
  const auto words = Words(Kernel(8), "my_kern_");
  const auto bytes = std::as_bytes(std::span(words));

  ASSERT_TRUE(CheckDefinition(bytes).has_value());
  EXPECT_EQ(DisplayName(bytes), "my_kern_");
}

TEST(DefinitionTest, NamesPartsThatDoNotFit) {
  EXPECT_THAT(Complaint(Words(Kernel(9), "my_kern_"), sizeof(wire::KernelWork) + 8),
              HasSubstr("definition of a kernel: its parts need"));
}

TEST(DefinitionTest, NamesALengthThatIsNotTheRecords) {
  EXPECT_THAT(Complaint(Words(Kernel(0)), sizeof(wire::KernelWork)), HasSubstr("the record has"));
}

TEST(DefinitionTest, NamesAnUnknownKind) {
  const wire::WorkHeader header{static_cast<wire::WorkKind>(77), 8};
  EXPECT_THAT(Complaint(Words(header), 8), HasSubstr("work kind 77 is unknown"));
}

TEST(DefinitionTest, NamesACuDnnTensorOfTooManyDimensions) {
  struct {
    wire::DnnGraphWork graph{};
    wire::DnnTensor tensor{};
  } work;
  work.graph.header = {wire::WorkKind::kDnnGraph, sizeof(work)};
  work.graph.tensor_count = 1;
  work.tensor.rank = 9;

  EXPECT_THAT(Complaint(Words(work), sizeof(work)), HasSubstr("tensor 0 has 9 dimensions"));
}

// A tensor and the graph that refers to it; `reference` is that of the graph.
std::string DnnNodes(std::uint32_t reference) {
  std::string bytes;
  const auto append = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(wire::DnnNode{.type = 4, .attribute_count = 1});
  append(wire::DnnAttribute{.name = 906, .type = 3, .element_bytes = 8, .reference_count = 0});
  append(std::int64_t{1});
  append(wire::DnnNode{.type = 15, .attribute_count = 1});
  append(wire::DnnAttribute{.name = 801, .type = 15, .element_bytes = 0, .reference_count = 1});
  append(reference);
  return bytes;
}
std::vector<std::uint64_t> DnnWork(const std::string& nodes) {
  wire::DnnGraphWork graph{};
  graph.header = {wire::WorkKind::kDnnGraph,
                  static_cast<std::uint32_t>(sizeof(graph) + nodes.size())};
  graph.node_bytes = static_cast<std::uint32_t>(nodes.size());
  return Words(graph, nodes);
}

TEST(DefinitionTest, ReadsTheDescriptorsOfACuDnnGraph) {
  const std::string nodes = DnnNodes(0);
  const auto words = DnnWork(nodes);
  EXPECT_EQ(Complaint(words, sizeof(wire::DnnGraphWork) + nodes.size()), "no complaint");

  const auto read =
      ReadDnnNodes(TailOf(WorkOf<wire::DnnGraphWork>(std::as_bytes(std::span(words)))).nodes);

  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].attributes.at(0).elements.size(), 8u);
  EXPECT_EQ((*read)[1].type, 15u);
  EXPECT_THAT((*read)[1].attributes.at(0).references, ::testing::ElementsAre(0u));
}

TEST(DefinitionTest, NamesADamagedDescriptorOfACuDnnGraph) {
  const auto complaint = [](const std::string& nodes) {
    return Complaint(DnnWork(nodes), sizeof(wire::DnnGraphWork) + nodes.size());
  };
  EXPECT_THAT(complaint(DnnNodes(1)), HasSubstr("node 1 ends early or refers to one"));
  const std::string whole = DnnNodes(0);
  const std::size_t first = sizeof(wire::DnnNode) + sizeof(wire::DnnAttribute) + 8;
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    if (bytes == first) continue;  // The tensor alone is whole.
    EXPECT_THAT(complaint(whole.substr(0, bytes)), HasSubstr("ends early")) << bytes;
  }
}

TEST(DefinitionTest, NamesAnUnknownCopy) {
  wire::CopyWork copy{};
  copy.header = {wire::WorkKind::kCopy, sizeof(copy)};
  copy.kind = static_cast<workload::CopyKind>(20);

  EXPECT_THAT(Complaint(Words(copy), sizeof(copy)), HasSubstr("copy kind 20 is unknown"));
}

}  // namespace
}  // namespace eidolon::agent::ring
