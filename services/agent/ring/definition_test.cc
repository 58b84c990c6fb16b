#include "services/agent/ring/definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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

TEST(DefinitionTest, NamesAnUnknownCopy) {
  wire::CopyWork copy{};
  copy.header = {wire::WorkKind::kCopy, sizeof(copy)};
  copy.kind = static_cast<wire::CopyKind>(20);

  EXPECT_THAT(Complaint(Words(copy), sizeof(copy)), HasSubstr("copy kind 20 is unknown"));
}

}  // namespace
}  // namespace eidolon::agent::ring
