#include "services/cli/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/base/text.h"
#include "services/contract/cluster/fabric_spec.h"
#include "services/contract/cluster/presets.h"

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kGpus = {"H100-PCIe-80GB", "H100-SXM5-80GB", "H200-SXM-141GB",
                                        "GB200", "GB200-NVL4"};

TEST(NamesTest, AWordMeansItselfInAnyCaseElseTheOnlyNameThatBeginsWithIt) {
  EXPECT_EQ(CompleteName("H100-SXM5-80GB", kGpus), "H100-SXM5-80GB");
  EXPECT_EQ(CompleteName("h100-sxm5-80gb", kGpus), "H100-SXM5-80GB");
  EXPECT_EQ(CompleteName("h200", kGpus), "H200-SXM-141GB");
  EXPECT_EQ(CompleteName("H100-s", kGpus), "H100-SXM5-80GB");
  EXPECT_EQ(CompleteName("gb200", kGpus), "GB200") << "though another name begins so";
}

TEST(NamesTest, NoNameIsGuessed) {
  EXPECT_EQ(CompleteName("h100", kGpus), std::nullopt) << "there are two";
  EXPECT_EQ(CompleteName("SXM", kGpus), std::nullopt);
  EXPECT_EQ(CompleteName("", kGpus), std::nullopt);
  EXPECT_EQ(CompleteName("H200-SXM-141GBB", kGpus), std::nullopt);
}

TEST(NamesTest, EveryPresetAndFabricHasALineThatSaysWhatItIs) {
  const std::string presets = FormatPresets();
  for (const std::string& name : cluster::PresetNames()) EXPECT_THAT(presets, HasSubstr(name));
  EXPECT_THAT(presets,
              HasSubstr("gb200-nvl72      GB200            4      5          4 x 400 Gbit/s   "
                        "18        rail-optimised\n"));
  const std::string fabrics = FormatFabrics();
  const std::size_t column = fabrics.find("WHAT IT IS");
  for (const std::string& kind : cluster::FabricKinds()) {
    const std::size_t at = fabrics.find("\n" + kind + " ");
    ASSERT_NE(at, fabrics.npos) << kind;
    const std::string line = fabrics.substr(at + 1, fabrics.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.at(column), ' ') << kind << " is not described";
  }
}

}  // namespace
}  // namespace eidolon::cli
