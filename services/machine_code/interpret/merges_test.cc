#include "services/machine_code/interpret/merges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/samples_test.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

// later_rounds() of services/machine_code/cubin/testdata/ways.ptx, by the compiled file: a loop
// counts rounds and stores the number of each at an address that is computed before it.
class MergesTest : public testing::TestWithParam<const char*> {
 protected:
  static Program Load() {
    std::ifstream file(
        std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + GetParam(),
        std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto bytes = std::as_bytes(std::span(text));
    return LoadKernel("later_rounds", std::vector<std::byte>(bytes.begin(), bytes.end()));
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, MergesTest,
                         testing::Values("ways_80.cubin", "ways_90.cubin", "ways_100.cubin"));

TEST_P(MergesTest, ALoopMergesWhatItsRoundsWriteAndNothingElse) {
  const Program program = Load();
  const Flow flow(program);
  std::vector<Places> written;
  for (const FlowBlock& block : flow.blocks()) {
    Places& places = written.emplace_back();
    for (std::uint32_t at = block.begin; at < block.end; ++at) {
      const DataUse use = UseOf(program.steps[at]);
      for (unsigned i = 0; use.target != kNowhere && i < use.words; ++i) places.set(use.target + i);
    }
  }
  const auto store = std::ranges::find(program.steps, sass::Operation::kStg, &Step::operation);
  ASSERT_NE(store, program.steps.end());

  Places merged;
  for (const Places& places : FindMerges(flow, written)) merged |= places;

  EXPECT_FALSE(merged[PlaceOfRegister(store->word.Bits(24, 8))]);
  EXPECT_TRUE(merged[PlaceOfRegister(store->word.Bits(32, 8))]);
}

}  // namespace
}  // namespace eidolon::interpret
