// Packed single precision of 10.x.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/run.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

constexpr std::uint64_t kBuffer = 0x6b0100000000;

// All of it known.
class OnePage : public Memory {
 public:
  OnePage() { page_.known.fill(~std::uint64_t{0}); }
  Page* FindPage(std::uint64_t number) override {
    return number == kBuffer / kPageBytes ? &page_ : nullptr;
  }
  template <typename T>
  T& At(std::size_t index) {
    return *reinterpret_cast<T*>(page_.bytes.data() + index * sizeof(T));
  }

 private:
  Page page_{};
};

// The kernel of services/machine_code/cubin/testdata/packed.ptx.
Program LoadPairs() {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/packed_100.cubin",
      std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const auto view = std::as_bytes(std::span(bytes));
  const auto sections = cubin::ParseProgram(view);
  Program program;
  program.dialect = sass::Dialect::k100;
  program.parameter_base = cubin::ParseCubin(view)->functions[0].parameter_base;
  const auto text = sections->sections[*sections->FindSection(".text.pairs")];
  const auto done = Translate(text.content, program);
  EXPECT_TRUE(done) << done.error().message;
  return program;
}

TEST(PackedTest, PairsOfNumbersAreWorkedOnTogether) {
  const Program program = LoadPairs();
  OnePage memory;
  constexpr float kDenormal = 0x1.8p-130F;
  const std::array<float, 2> a = {1.1F, -7.3F};
  const std::array<float, 2> b = {0.3F, 0x1p-30F};
  const std::array<float, 2> c = {kDenormal, 2.7F};
  constexpr float kNumber = 3.1F;
  constexpr std::uint32_t kInteger = 0xfffffe7f;
  std::memcpy(&memory.At<float>(0), a.data(), 8);
  std::memcpy(&memory.At<float>(2), b.data(), 8);
  std::memcpy(&memory.At<float>(4), c.data(), 8);
  memory.At<float>(6) = kNumber;
  memory.At<std::uint32_t>(7) = kInteger;
  const Outcome outcome =
      interpret::Run(program, {.parameters = std::as_bytes(std::span(&kBuffer, 1))}, memory, {});

  ASSERT_EQ(outcome.stop, Stop::kNone);
  for (std::size_t i = 0; i < 2; ++i) {
    const float crossed = a[1 - i];
    EXPECT_EQ(memory.At<float>(16 + i), a[i] + b[i]) << i;
    EXPECT_EQ(memory.At<float>(18 + i), a[i] * c[i]) << i;
    EXPECT_EQ(memory.At<float>(20 + i), std::fma(a[i], b[i], c[i])) << i;
    EXPECT_EQ(memory.At<float>(22 + i), MultiplyAdd(a[i], kNumber, c[i], Rounding::kZero)) << i;
    EXPECT_EQ(memory.At<float>(24 + i), Add(crossed, b[i], Rounding::kDown)) << i;
    EXPECT_EQ(memory.At<float>(26 + i), Add(a[i], -kNumber, Rounding::kUp)) << i;
    EXPECT_EQ(memory.At<float>(28 + i), std::fma(a[i], b[i], 1.0F)) << i;
    EXPECT_EQ(memory.At<float>(30 + i), (kNumber + c[i]) + crossed) << i;
    EXPECT_EQ(memory.At<float>(32 + i), (i == 0 ? 0 : c[i]) + 1) << i;
    EXPECT_EQ(memory.At<float>(34 + i), i == 0 ? 0 : c[i] * kNumber) << i;
    EXPECT_EQ(memory.At<float>(36 + i), c[i] * 3) << i;
  }
  EXPECT_EQ(memory.At<float>(38), -385.0F);
  EXPECT_EQ(memory.At<float>(39), 0x1.fffffcp31F);  // To zero,
  EXPECT_EQ(memory.At<float>(40), 0x1.fffffcp31F);
}

// What an immediate is for two halves is known only when it is one number for both.
TEST(PackedTest, AnImmediateThatIsAPairIsRefused) {
  constexpr std::uint64_t kSame = std::uint64_t{1} << (85 - 64);
  std::vector<sass::Word> words = {{0x3f8000000604744b, 0x000fc40000000000 | kSame}};
  Program program;
  program.dialect = sass::Dialect::k100;
  EXPECT_TRUE(Translate(std::as_bytes(std::span(words)), program));

  words[0].high &= ~kSame;
  EXPECT_FALSE(Translate(std::as_bytes(std::span(words)), program));
}

}  // namespace
}  // namespace eidolon::interpret
