#include "services/timing/fit/noise_floor.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

namespace eidolon::timing::fit {
namespace {

using Class = std::tuple<std::string, std::string, std::string>;

std::map<Class, NoiseFloor> FloorsByClass() {
  std::map<Class, NoiseFloor> floors;
  for (const NoiseFloor& f : NoiseFloors()) {
    floors[{std::string(f.gpu), std::string(f.type), std::string(f.lasts)}] = f;
  }
  return floors;
}

TEST(NoiseFloorTest, EveryClassHasAFloorAndAllButOneHoldIt) {
  const auto floors = FloorsByClass();
  std::set<Class> missed;
  const auto held_out = HeldOutGemms();
  EXPECT_EQ(held_out.size(), floors.size());
  for (const KernelErrors& e : held_out) {
    const Class key = {e.gpu, e.type, e.lasts};
    ASSERT_TRUE(floors.contains(key)) << e.gpu << " " << e.type << " " << e.lasts;
    EXPECT_GE(floors.at(key).pairs, 1000u) << e.gpu << " " << e.type << " " << e.lasts;
    if (!HoldsFloor(e, floors.at(key))) missed.insert(key);
  }

  // docs/reference/generated/kernel_times.md names the ones that miss.
  EXPECT_EQ(missed, (std::set<Class>{{"H200-SXM-141GB", "fp8", "20 to 200 us"}}));
}

TEST(NoiseFloorTest, ASingleStackHasNoOthersToDifferFrom) {
  for (const NoiseFloor& f : NoiseFloors()) {
    EXPECT_GT(f.all, 0) << f.gpu;
    EXPECT_EQ(f.stacks == 0, f.type == "fp8") << f.gpu;
    if (f.type == "fp8") {
      EXPECT_EQ(f.versions, f.all) << f.gpu;
    }
  }
}

TEST(NoiseFloorTest, WritesALineForEachClass) {
  const KernelErrors errors = {
      .gpu = "A100-SXM4-80GB", .type = "bf16", .from = "", .lasts = "< 20 us", .mean = 0.5};
  const std::string text = FormatNoiseFloor({errors});

  EXPECT_NE(text.find("| A100-SXM4-80GB | bf16 | < 20 us | 20055 |"), std::string::npos) << text;
  EXPECT_NE(text.find("| 50.0 % | 6.33 | **misses** |"), std::string::npos) << text;
}

}  // namespace
}  // namespace eidolon::timing::fit
