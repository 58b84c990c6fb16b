#include "services/contract/cluster/cpu_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "services/contract/cluster/presets.h"

namespace eidolon::cluster {
namespace {

TEST(CpuModelTest, TheReferenceHasSpeedOne) {
  ASSERT_NE(FindCpuModel("Xeon-8480C"), nullptr);
  EXPECT_DOUBLE_EQ(FindCpuModel("Xeon-8480C")->speed, 1.0);
}

TEST(CpuModelTest, NamesAreSortedAndKnown) {
  const std::vector<std::string> names = CpuModelNames();

  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string& name : names) {
    const CpuModel* model = FindCpuModel(name);
    ASSERT_NE(model, nullptr) << name;
    EXPECT_GT(model->speed, 0.5) << name;
    EXPECT_LT(model->speed, 1.5) << name;
    EXPECT_GT(model->relative_error, 0) << name;
  }
  EXPECT_EQ(FindCpuModel("xeon"), nullptr);
}

TEST(CpuModelTest, AnOlderCoreIsSlower) {
  EXPECT_LT(FindCpuModel("EPYC-7742")->speed, FindCpuModel("EPYC-7763")->speed);
  EXPECT_LT(FindCpuModel("EPYC-7763")->speed, FindCpuModel("EPYC-9654")->speed);
}

TEST(CpuModelTest, EveryPresetHasAProcessorThatIsKnown) {
  for (const std::string& preset : PresetNames()) {
    EXPECT_NE(FindCpuModel(MakePreset(preset).cpu), nullptr) << preset;
  }
  EXPECT_EQ(MakePreset("dgx-a100").cpu, "EPYC-7742");
  EXPECT_EQ(MakePreset("dgx-h100").cpu, "Xeon-8480C");
  EXPECT_EQ(MakePreset("dgx-b200").cpu, "Xeon-8570");
  EXPECT_EQ(MakePreset("gb200-nvl72").cpu, "Grace");
}

TEST(CpuModelTest, AGpuThatNoPresetNamesHasAUsualProcessor) {
  for (const char* gpu : {"A100-SXM4-80GB", "H200-SXM-141GB", "B300", "GH200", "L40S"}) {
    EXPECT_NE(FindCpuModel(UsualCpuOf(gpu)), nullptr) << gpu;
  }
}

}  // namespace
}  // namespace eidolon::cluster
