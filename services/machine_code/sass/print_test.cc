#include "services/machine_code/sass/print.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "services/base/random.h"
#include "services/machine_code/sass/form.h"
#include "source_tree.h"

namespace eidolon::sass {
namespace {

// A file of testdata: "address low high text", one of each kind of instruction that the kernels of
// PyTorch 2.15 hold, and of some that they do not, with the text of NVIDIA's disassembler
// (nvdisasm 13.1). Returns how many.
std::size_t CompareWords(const std::string& name, Dialect dialect) {
  std::ifstream file(std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/sass/testdata/" +
                     name);
  std::string line;
  std::size_t words = 0;
  while (std::getline(file, line)) {
    char* at = line.data();
    const std::uint64_t address = std::strtoull(at, &at, 16);
    Word word;
    word.low = std::strtoull(at, &at, 16);
    word.high = std::strtoull(at, &at, 16);
    const std::string_view expected = at + 1;

    EXPECT_EQ(Print(word, address, dialect), expected) << line;
    ++words;
  }
  return words;
}

TEST(PrintTest, AgreesWithTheVendorsDisassembler) {
  EXPECT_GT(CompareWords("words.txt", Dialect::k90), 700u);
  EXPECT_GT(CompareWords("words_80.txt", Dialect::k80), 300u);
  EXPECT_GT(CompareWords("words_100.txt", Dialect::k100), 300u);
}

TEST(PrintTest, NamesTheOpcodeOfWhatItDoesNotKnow) {
  EXPECT_EQ(Print({0x9f0, 0}, 0, Dialect::k90), "unknown 0x9f0");
  EXPECT_EQ(FindForm({0x9f0, 0}, Dialect::k90), nullptr);
}

TEST(PrintTest, FieldsThatNoRowDescribesMakeAWordUnknown) {
  // Found in PyTorch's kernels for 10.0: IDP.2A, I2FP.RM, ST and LD with other fields.
  for (const Word& word :
       {Word{0x0000000300007226, 0x000fca00000010ff}, Word{0x0000000000007245, 0x000fe20000205000},
        Word{0x0000000002007385, 0x0001e40000100b04},
        Word{0x0000000002047980, 0x000ea40000100900}}) {
    EXPECT_EQ(FindForm(word, Dialect::k100), nullptr) << std::hex << word.low;
  }
}

TEST(PrintTest, NamesWhatComesBackIntoAUniformRegister) {
  EXPECT_EQ(Print({0x00000000220472ca, 0x000fe200004e0000}, 0, Dialect::k100),
            "R2UR.FILL UR4, R34");
}

TEST(PrintTest, PrintsEveryWordWithoutHarm) {
  base::Random random(11);
  std::size_t known = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Word word{random.Next(), random.Next()};
    const auto dialect = static_cast<Dialect>(random.Below(kDialects));
    known += Print(word, 0, dialect).starts_with("unknown") ? 0 : 1;
  }
  EXPECT_GT(known, 1000u);
}

TEST(WordTest, FieldsMayCrossTheHalves) {
  const Word word{0xf000000000000000u, 0x3};
  EXPECT_EQ(word.Bits(60, 6), 0x3fu);
  EXPECT_EQ(word.Signed(60, 6), -1);
  EXPECT_EQ(word.Signed(60, 7), 63);
}

}  // namespace
}  // namespace eidolon::sass
