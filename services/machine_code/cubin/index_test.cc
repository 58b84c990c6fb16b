#include "services/machine_code/cubin/index.h"

#include <gtest/gtest.h>

#include "services/machine_code/cubin/ptx.h"
#include "services/machine_code/cubin/test_files.h"

namespace eidolon::cubin {
namespace {

class IndexTest : public testing::Test {
 protected:
  IndexTest() : text_(ReadSample("sample.ptx")), block_(BuildIndex(*ParsePtx(text_), {1, 2})) {}

  std::string text_;
  std::vector<std::byte> block_;
};

TEST_F(IndexTest, FindsFunctionsAndVariablesByName) {
  const auto index = Index::Open(block_);
  ASSERT_TRUE(index) << index.error().message;

  const FunctionRow* tile = index->FindFunction("tile");
  ASSERT_NE(tile, nullptr);
  EXPECT_EQ(index->NameOf(*tile), "tile");
  EXPECT_EQ(tile->static_shared_bytes, 4096u);
  EXPECT_EQ(tile->block_max[0], 256u);
  const auto parameters = index->ParametersOf(*tile);
  ASSERT_EQ(parameters.size(), 3u);
  EXPECT_EQ(parameters[2], (Parameter{48, 8}));
  ASSERT_NE(index->FindVariable("factors"), nullptr);
  EXPECT_EQ(index->FindVariable("factors")->constant, 1u);
  EXPECT_EQ(index->FindFunction("til"), nullptr);
  EXPECT_EQ(index->FindFunction("tiles"), nullptr);
  EXPECT_EQ(index->FindVariable("tile"), nullptr);
  EXPECT_EQ(index->header().content, (base::Digest{1, 2}));
}

TEST_F(IndexTest, RefusesEveryChangedByte) {
  for (std::size_t i = 0; i < block_.size(); ++i) {
    // Identity and target are outside the check: the cache's key covers them.
    if (i >= 24 && i < 56) continue;
    auto changed = block_;
    changed[i] ^= std::byte{1};
    EXPECT_FALSE(Index::Open(changed)) << i;
  }
}

TEST_F(IndexTest, RefusesEveryTruncation) {
  for (std::size_t size = 0; size < block_.size(); ++size) {
    EXPECT_FALSE(Index::Open(Bytes(block_).first(size))) << size;
  }
}

}  // namespace
}  // namespace eidolon::cubin
