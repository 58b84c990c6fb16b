#include "services/contract/workload/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "services/contract/workload/dnn_nodes.h"

namespace eidolon::workload {
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

Kernel KernelOf(std::uint32_t name_bytes) {
  Kernel kernel;
  kernel.header = {WorkKind::kKernel, static_cast<std::uint32_t>(sizeof(kernel) + 8)};
  kernel.name_bytes = name_bytes;
  return kernel;
}

TEST(DefinitionTest, ReadsAKernelsName) {
  const auto words = Words(KernelOf(8), "my_kern_");
  const auto bytes = std::as_bytes(std::span(words));

  ASSERT_TRUE(CheckDefinition(bytes).has_value());
  EXPECT_EQ(DisplayName(bytes), "my_kern_");
}

TEST(DefinitionTest, NamesAGemmByTypesTranspositionAndSizes) {
  Gemm gemm;
  gemm.m = 8192;
  gemm.n = 4096;
  gemm.k = 2048;
  gemm.type_a = gemm.type_b = 14;
  gemm.transpose_a = 1;
  const auto name = [&] {
    const auto words = Words(gemm);
    return DisplayName(std::as_bytes(std::span(words)));
  };

  EXPECT_EQ(name(), "gemm bf16 TN 8192x4096x2048");
  gemm.type_a = 28;
  gemm.type_b = 29;
  gemm.batch = 8;
  EXPECT_EQ(name(), "gemm e4m3*e5m2 TN 8192x4096x2048 x8");
  gemm.type_a = gemm.type_b = 0;
  gemm.compute_type = 77;
  EXPECT_EQ(name(), "gemm tf32 TN 8192x4096x2048 x8");
}

TEST(DefinitionTest, NamesPartsThatDoNotFit) {
  EXPECT_THAT(Complaint(Words(KernelOf(9), "my_kern_"), sizeof(Kernel) + 8),
              HasSubstr("definition of a kernel: its parts need"));
}

TEST(DefinitionTest, NamesALengthThatIsNotTheRecords) {
  EXPECT_THAT(Complaint(Words(KernelOf(0)), sizeof(Kernel)), HasSubstr("the record has"));
}

TEST(DefinitionTest, NamesAnUnknownKind) {
  const WorkHeader header{static_cast<WorkKind>(77), 8};
  EXPECT_THAT(Complaint(Words(header), 8), HasSubstr("work kind 77 is unknown"));
}

TEST(DefinitionTest, NamesACuDnnTensorOfTooManyDimensions) {
  struct {
    DnnGraph graph{};
    DnnTensor tensor{};
  } work;
  work.graph.header = {WorkKind::kDnnGraph, sizeof(work)};
  work.graph.tensor_count = 1;
  work.tensor.rank = 9;

  EXPECT_THAT(Complaint(Words(work), sizeof(work)),
              HasSubstr("tensor 0: rank is 9, at most 8 is allowed"));
}

// A tensor and the graph that refers to it; `reference` is that of the graph.
std::string DnnNodes(std::uint32_t reference) {
  std::string bytes;
  const auto append = [&](const auto& value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(DnnNodeHead{.type = 4, .attribute_count = 1});
  append(DnnAttributeHead{.name = 906, .type = 3, .element_bytes = 8, .reference_count = 0});
  append(std::int64_t{1});
  append(DnnNodeHead{.type = 15, .attribute_count = 1});
  append(DnnAttributeHead{.name = 801, .type = 15, .element_bytes = 0, .reference_count = 1});
  append(reference);
  return bytes;
}
std::vector<std::uint64_t> DnnWork(const std::string& nodes) {
  DnnGraph graph{};
  graph.header = {WorkKind::kDnnGraph, static_cast<std::uint32_t>(sizeof(graph) + nodes.size())};
  graph.node_bytes = static_cast<std::uint32_t>(nodes.size());
  return Words(graph, nodes);
}

TEST(DefinitionTest, ReadsTheDescriptorsOfACuDnnGraph) {
  const std::string nodes = DnnNodes(0);
  const auto words = DnnWork(nodes);
  EXPECT_EQ(Complaint(words, sizeof(DnnGraph) + nodes.size()), "no complaint");

  const auto read = ReadDnnNodes(DnnGraphTailOf(std::as_bytes(std::span(words))).nodes);

  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].attributes.at(0).elements.size(), 8u);
  EXPECT_EQ((*read)[1].type, 15u);
  EXPECT_THAT((*read)[1].attributes.at(0).nodes, ::testing::ElementsAre(0u));
}

TEST(DefinitionTest, NamesADamagedDescriptorOfACuDnnGraph) {
  const auto complaint = [](const std::string& nodes) {
    return Complaint(DnnWork(nodes), sizeof(DnnGraph) + nodes.size());
  };
  EXPECT_THAT(complaint(DnnNodes(1)), HasSubstr("node 1 ends early or refers to one"));
  const std::string whole = DnnNodes(0);
  const std::size_t first = sizeof(DnnNodeHead) + sizeof(DnnAttributeHead) + 8;
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    if (bytes == first) continue;  // The tensor alone is whole.
    EXPECT_THAT(complaint(whole.substr(0, bytes)), HasSubstr("ends early")) << bytes;
  }
}

TEST(DefinitionTest, NamesAnUnknownEpilogue) {
  const Gemm gemm{.epilogue = Epilogue{kEpilogues}};

  EXPECT_THAT(Complaint(Words(gemm), sizeof(gemm)),
              HasSubstr("definition of a gemm: epilogue is 17, at most 16 is allowed"));
}

// The definition has the first layout, on disk as in memory of then.
TEST(DefinitionTest, FieldsThatADefinitionIsTooShortForHaveTheirDefaults) {
  Gemm gemm{.m = 7, .batch = 3, .fast_accumulation = 1};
  gemm.header.bytes = kLeastBytes<Gemm>;
  const auto words = Words(gemm);
  const auto bytes = std::as_bytes(std::span(words)).first(kLeastBytes<Gemm>);

  ASSERT_TRUE(CheckDefinition(bytes).has_value());
  EXPECT_EQ(WorkOf<Gemm>(bytes).batch, 3u);
  EXPECT_EQ(WorkOf<Gemm>(bytes).fast_accumulation, 1u);
  gemm.header.bytes = kLeastBytes<Gemm> - 8;
  EXPECT_THAT(Complaint(Words(gemm), kLeastBytes<Gemm> - 8), HasSubstr("at least 152 are needed"));
}

TEST(DefinitionTest, KnowsItsOwnLayoutAndTheEarlierOnes) {
  for (std::uint32_t version = 1; version <= kLayoutVersion; ++version) {
    EXPECT_TRUE(CheckVersion(version).has_value()) << version;
  }
  EXPECT_FALSE(CheckVersion(0).has_value());
  EXPECT_THAT(CheckVersion(kLayoutVersion + 1).error().message, HasSubstr("reads versions up to"));
}

// Each byte behind the header belongs to one row, and rows are in the order of memory.
template <typename Struct>
void ExpectWholeTable(std::size_t begin) {
  const Struct work{};
  std::size_t at = begin;
  ForEachField<Struct>([&](const auto& field) {
    const auto* member = reinterpret_cast<const char*>(&(work.*field.member));
    EXPECT_EQ(member - reinterpret_cast<const char*>(&work), std::ptrdiff_t(at)) << field.name;
    at += BytesOf(field);
  });
  EXPECT_EQ(at, sizeof(Struct));
  EXPECT_TRUE(std::has_unique_object_representations_v<Struct>);
}
TEST(DefinitionTest, EveryFieldHasItsRow) {
  ExpectWholeTable<Kernel>(sizeof(WorkHeader));
  ExpectWholeTable<Gemm>(sizeof(WorkHeader));
  ExpectWholeTable<DnnTensor>(0);
  ExpectWholeTable<DnnOperation>(0);
  ExpectWholeTable<DnnGraph>(sizeof(WorkHeader));
  ExpectWholeTable<Copy>(sizeof(WorkHeader));
  ExpectWholeTable<Library>(sizeof(WorkHeader));
}

TEST(DefinitionTest, NamesAnUnknownCopy) {
  Copy copy{};
  copy.header = {WorkKind::kCopy, sizeof(copy)};
  copy.kind = static_cast<CopyKind>(20);

  EXPECT_THAT(Complaint(Words(copy), sizeof(copy)), HasSubstr("kind is 20, at most 5 is allowed"));
}

}  // namespace
}  // namespace eidolon::workload
