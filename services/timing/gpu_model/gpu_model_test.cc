#include "services/timing/gpu_model/gpu_model.h"
#include "source_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace eidolon::timing::gpu_model {
namespace {

using testing::HasSubstr;

std::string Text() {
  std::ifstream in(EIDOLON_SOURCE_DIR "/services/timing/gpu_model/models/H100-SXM5-80GB.yaml");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The H100 file with `from` replaced by `to`, then the message of the error it gives.
std::string MessageWhen(const std::string& from, const std::string& to) {
  std::string text = Text();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto model = ParseGpuModel(text, "h100.yaml");
  return model ? "no error" : model.error().message;
}

TEST(GpuModelTest, ReadsNumbersInBaseUnits) {
  const auto model = ParseGpuModel(Text(), "h100.yaml");

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->product_name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(model->compute_major, 9u);
  EXPECT_EQ(model->multiprocessors, 132u);
  EXPECT_EQ(model->boost_clock_hz, 1'980'000'000u);
  EXPECT_EQ(model->memory_bytes, 85'024'112'640u);
  EXPECT_EQ(model->memory_bytes_per_second, 3'350'000'000'000u);
  EXPECT_EQ(model->l2_bytes, 50u << 20);
  EXPECT_EQ(model->launch_gap, base::Duration::Microseconds(1));
  EXPECT_DOUBLE_EQ(model->peak_flops.at("bf16"), 989.4e12);
}

TEST(GpuModelTest, NamesLineKeyAndNearestNameOfAnUnknownKey) {
  const std::string message = MessageWhen("multiprocessors:", "multiprocesors:");

  EXPECT_THAT(message, HasSubstr("h100.yaml:5: unknown key 'multiprocesors'"));
  EXPECT_THAT(message, HasSubstr("did you mean 'multiprocessors'?"));
}

TEST(GpuModelTest, NamesAMissingKey) {
  EXPECT_THAT(MessageWhen("l2: 50 MiB", "# none"), HasSubstr("key 'l2' is missing"));
}

TEST(GpuModelTest, NodesOfGraphsFollowAsLaunchesDoWhereTheFileDoesNotSay) {
  EXPECT_EQ(ParseGpuModel(Text(), "h100.yaml")->graph_gap, base::Duration::Nanoseconds(50));
  std::string text = Text();
  const auto at = text.find("graph_gap");
  text.erase(at, text.find('\n', at) - at);

  const auto model = ParseGpuModel(text, "h100.yaml");

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph_gap, model->launch_gap);
}

TEST(GpuModelTest, GemmsFollowInGraphsAsOtherNodesDoWhereTheFileDoesNotSay) {
  EXPECT_EQ(ParseGpuModel(Text(), "h100.yaml")->gemm_graph_gap, base::Duration::Nanoseconds(690));
  std::string text = Text();
  const auto at = text.find("gemm_graph_gap");
  text.erase(at, text.find('\n', at) - at);

  const auto model = ParseGpuModel(text, "h100.yaml");

  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->gemm_graph_gap, base::Duration::Nanoseconds(50));
}

TEST(GpuModelTest, AKernelWithLittleToDoLastsHardlyLongerThanAnEmptyOne) {
  const auto measured = ParseGpuModel(Text(), "h100.yaml");
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_DOUBLE_EQ(KernelSeconds(*measured, 0), 0.93e-6);
  // Adding 1024 numbers in L2 lasts 1.09 us (e2e/measured/h100): one load, 0.13 us, and its use.
  EXPECT_NEAR(KernelSeconds(*measured, 0.13e-6), 1.09e-6, 0.15e-6);
  EXPECT_DOUBLE_EQ(KernelSeconds(*measured, 50e-6), 51.4e-6);

  std::string text = Text();
  const auto at = text.find("empty_kernel");
  ASSERT_NE(at, std::string::npos);
  text.erase(at, text.find('\n', at) - at + 1);
  const auto unmeasured = ParseGpuModel(text, "h100.yaml");
  ASSERT_TRUE(unmeasured) << unmeasured.error().message;
  EXPECT_DOUBLE_EQ(KernelSeconds(*unmeasured, 0), 2e-6);
  EXPECT_DOUBLE_EQ(KernelSeconds(*unmeasured, 0.5e-6), 2e-6);
  EXPECT_DOUBLE_EQ(KernelSeconds(*unmeasured, 50e-6), 51.4e-6);
}

TEST(GpuModelTest, NamesLineAndAllowedUnitsOfAWrongUnit) {
  const std::string message = MessageWhen("3.35 TB/s", "3.35 GHz");

  EXPECT_THAT(message, HasSubstr("h100.yaml:11: memory_bandwidth: '3.35 GHz' has the wrong unit"));
  EXPECT_THAT(message, HasSubstr("GB/s, TB/s"));
}

// The H100 file with another name, and behind it how long work lasts.
std::string FixedText(const std::string& name, const std::string& durations) {
  std::string text = Text();
  text.replace(text.find("H100-SXM5-80GB"), 14, name);
  return text + durations;
}

constexpr char kFixedDurations[] =
    "fixed_durations: {work: 2 us, wave: 1 us, operations: 100 TFLOP/s, bytes: 1 TB/s, "
    "host_call: 3 us, host_operator: 4 us, transfer: 20 us, transfer_bytes: 50 GB/s}\n";

TEST(GpuModelTest, ReadsFixedDurations) {
  const auto model = ParseGpuModel(FixedText("fixed-h100", kFixedDurations), "fixed.yaml");

  ASSERT_TRUE(model) << model.error().message;
  ASSERT_TRUE(model->fixed);
  EXPECT_EQ(model->fixed->work, base::Duration::Microseconds(2));
  EXPECT_EQ(model->fixed->wave, base::Duration::Microseconds(1));
  EXPECT_EQ(model->fixed->operations_per_second, 100'000'000'000'000u);
  EXPECT_EQ(model->fixed->bytes_per_second, 1'000'000'000'000u);
  EXPECT_EQ(model->fixed->host_call, base::Duration::Microseconds(3));
  EXPECT_EQ(model->fixed->host_operator, base::Duration::Microseconds(4));
  EXPECT_EQ(model->fixed->transfer, base::Duration::Microseconds(20));
  EXPECT_EQ(model->fixed->transfer_bytes_per_second, 50'000'000'000u);
  EXPECT_FALSE(ParseGpuModel(Text(), "h100.yaml")->fixed);
}

TEST(GpuModelTest, AGpuWithFixedDurationsIsKnownByItsName) {
  for (const std::string& text :
       {FixedText("H100-SXM5-80GB", kFixedDurations), FixedText("fixed-h100", "")}) {
    const auto model = ParseGpuModel(text, "fixed.yaml");

    ASSERT_FALSE(model);
    EXPECT_THAT(model.error().message, HasSubstr("begin with 'fixed-'"));
  }
}

TEST(GpuModelTest, RefusesFixedDurationsWithAKeyThatIsMissingZeroOrOfAnotherUnit) {
  struct Row {
    const char* from;
    const char* to;
    const char* message;
  };
  const Row rows[] = {
      {"wave: 1 us, ", "", "a map of 8 keys"},
      {"wave: 1 us", "waves: 1 us", "fixed_durations: wave: is missing"},
      {"wave: 1 us", "wave: 0 us", "fixed_durations: wave: '0 us' is out of range"},
      {"bytes: 1 TB/s", "bytes: 1 us", "fixed_durations: bytes: '1 us' has the wrong unit"},
      {"wave: 1 us", "wave: [1 us]", "fixed_durations: wave: a single value"}};
  for (const Row& row : rows) {
    std::string durations = kFixedDurations;
    durations.replace(durations.find(row.from), std::string(row.from).size(), row.to);

    const auto model = ParseGpuModel(FixedText("fixed-h100", durations), "fixed.yaml");

    ASSERT_FALSE(model) << row.to;
    EXPECT_THAT(model.error().message, HasSubstr(row.message));
  }
}

TEST(GpuModelTest, PowerIsKnownAsAWholeOrNotAtAll) {
  struct Row {
    const char* from;
    const char* to;
    const char* message;
  };
  for (const Row& row : {Row{"  memory: 463 W  #", "  #", "power: memory: is missing"},
                         Row{"  memory: 463 W", "  memory: 463", "power: memory: "},
                         Row{"  held: 0.987", "  held: 1.2", "out of range"},
                         Row{"  memory: 463 W", "  idle: 70 W\n  memory: 463 W", "an unknown key"},
                         Row{"  floor: 126 W", "  floor: 800 W", "not below held x power_limit"}}) {
    EXPECT_THAT(MessageWhen(row.from, row.to), HasSubstr(row.message)) << row.to;
  }
}

TEST(GpuModelTest, RefusesBadValues) {
  struct Row {
    const char* from;
    const char* to;
    const char* message;
  };
  const Row rows[] = {
      {"multiprocessors: 132", "multiprocessors: many", "does not start with a number"},
      {"multiprocessors: 132", "multiprocessors: 0", "out of range"},
      {"multiprocessors: 132", "multiprocessors: [132]", "a single value is expected"},
      {"compute_capability: 9.0", "compute_capability: nine", "not a compute capability"},
      {"  bf16: 989.4", "  bf17: 989.4", "unknown type 'bf17'"},
      {"name: H100", "boost_clock: 1 GHz\nname: H100", "stands twice"},
      {"attained_memory_share: 0.90", "attained_memory_share: 1.5", "above 1"},
      {"steady_product_share: 0.94", "steady_product_share: 1.1", "steady_product_share: above 1"},
      {"steady_product_share: 0.94", "", "'steady_product_share' is missing"},
      {"name: H100", "name: {H100", "h100.yaml:"},
  };
  for (const Row& row : rows) {
    EXPECT_THAT(MessageWhen(row.from, row.to), HasSubstr(row.message)) << row.to;
  }
}

}  // namespace
}  // namespace eidolon::timing::gpu_model
