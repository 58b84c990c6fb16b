#include "services/agent/server/gpu_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <sstream>
#include <string>

#include "eidolon/common/v1/common.pb.h"
#include "services/agent/ring/fake_writer.h"
#include "services/agent/server/sensors.h"
#include "services/agent/session/fake_host.h"

namespace eidolon::agent::server {
namespace {

namespace wire = ::eidolon::ring;
using base::Duration;
using base::SimTime;
using ::testing::HasSubstr;

// A server with two H100, the first of which a rank uses.
class GpuMetricsTest : public ::testing::Test {
 protected:
  GpuMetricsTest() {
    job_.assignment.set_server(3);
    job_.assignment.set_servers(4);
    job_.assignment.set_ranks_per_server(2);
    wire::DeviceProperties gpu{.name = "NVIDIA H100 80GB HBM3",
                               .uuid = {1, 2, 3},
                               .pci_bus = 0x1b,
                               .sm_clock_khz = 1'980'000,
                               .memory_clock_khz = 2'619'000,
                               .memory_bytes = std::uint64_t{80} << 30};
    job_.content.devices = {gpu, gpu};
    job_.traits = {{.multiprocessors = 132, .power = {126'000, 565'000}},
                   {.multiprocessors = 132, .power = {126'000, 565'000}}};
    job_.default_milliwatts = 700'000;
    host_.costs().InternBasis(estimate::Source::kMeasured, 0, "none", 0);
    processes_.emplace(&job_, &host_);
  }
  ~GpuMetricsTest() override {
    for (const int end : ends_) close(end);
  }

  // A rank launches kernels of a millisecond, each at 400 W above the floor, and comes to `clock`.
  void Launch(int times, Duration clock) {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends_), 0);
    wire::Hello hello{};
    hello.rank = 6;
    hello.local_rank = 0;
    hello.pid = getpid();
    ASSERT_TRUE(processes_->Admit(ends_[0], hello, ends_[1]).has_value());
    session::Session& rank = processes_->at(1);
    ring::FakeWriter writer(rank.segment().base());
    writer.DefineKernel(100, "gemm");
    for (int i = 0; i < times; ++i) writer.Launch(0, 100);
    ASSERT_TRUE(rank.Drain(10).has_value());
    common::v1::Estimate estimate;
    estimate.set_duration_picoseconds(1'000'000'000);
    estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    estimate.set_power_milliwatts(400'000);
    for (const auto& question : host_.costs().TakeQuestions(10)) {
      host_.costs().Learn(question.entry, estimate);
    }
    wire::MemoryRecord memory{};
    memory.delta = 5 << 20;
    memory.used = 5 << 20;
    writer.Append(wire::RecordKind::kMemory, memory);
    writer.SetClock(static_cast<std::uint64_t>(clock.ps));
    ASSERT_TRUE(rank.Drain(times + 10).has_value());
  }
  std::string Page(GpuMetrics* metrics) {
    metrics->Show(*processes_);
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  JobParts job_;
  session::FakeHost host_;
  prometheus::Registry registry_;
  std::optional<Processes> processes_;
  int ends_[2] = {-1, -1};
};

TEST_F(GpuMetricsTest, AreThoseOfDcgmExporter) {
  GpuMetrics metrics(&registry_, &job_);
  Launch(1000, Duration::Milliseconds(2000));

  const std::string page = Page(&metrics);

  const std::string labels =
      "{Hostname=\"server-3\",UUID=\"GPU-01020300-0000-0000-0000-000000000000\",device=\"nvidia0\","
      "gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",pci_bus_id=\"00000000:1B:00.0\"} ";
  // 126 W for two seconds, and 400 W above that for one of them.
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + labels + "652000\n"));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_FB_USED" + labels + "5\n"));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_FB_FREE" + labels + "81915\n"));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_SM_CLOCK" + labels + "1980\n"));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_GPU_UTIL" + labels + "0\n"));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_XID_ERRORS" + labels + "0\n"));
  EXPECT_THAT(page, HasSubstr("gpu=\"1\""));
}

TEST_F(GpuMetricsTest, AGpuWhosePowerIsNotKnownShowsNone) {
  job_.traits[0].power = {};
  GpuMetrics metrics(&registry_, &job_);
  const std::string page = Page(&metrics);
  const auto power = [&page](const std::string& gpu) {
    std::size_t found = 0;
    std::istringstream lines(page);
    for (std::string line; std::getline(lines, line);) {
      const bool is_power = line.starts_with("DCGM_FI_DEV_POWER_USAGE{");
      if (is_power && line.find("gpu=\"" + gpu + "\"") != std::string::npos) ++found;
    }
    return found;
  };
  EXPECT_EQ(power("0"), 0u);
  EXPECT_EQ(power("1"), 1u);
  const auto sensors = ReadSensors(job_, *processes_, 0, SimTime{} + Duration::Milliseconds(5));
  EXPECT_EQ(sensors.power_known, 0u);
  EXPECT_EQ(sensors.energy_microjoules, 0u);
  EXPECT_EQ(sensors.mean_milliwatts, 0u);
}

TEST_F(GpuMetricsTest, WindowsEndAtTheTimeOfTheReading) {
  Launch(1000, Duration::Milliseconds(2000));

  const auto busy = ReadSensors(job_, *processes_, 0, SimTime{} + Duration::Milliseconds(500));
  EXPECT_NEAR(busy.mean_milliwatts, 526'000, 1'000);
  EXPECT_NEAR(busy.instant_milliwatts, 526'000, 5'000);
  EXPECT_NEAR(busy.busy_permille, 1000, 5);
  // Half of the last second was work.
  const auto after = ReadSensors(job_, *processes_, 0, SimTime{} + Duration::Milliseconds(1500));
  EXPECT_NEAR(after.mean_milliwatts, 326'000, 1'000);
  EXPECT_EQ(after.instant_milliwatts, 126'000u);
  EXPECT_EQ(after.busy_permille, 0u);
  const auto idle = ReadSensors(job_, *processes_, 1, SimTime{} + Duration::Milliseconds(1500));
  EXPECT_EQ(idle.mean_milliwatts, 126'000u);
  EXPECT_EQ(idle.energy_microjoules, 189'000'000u);
}

}  // namespace
}  // namespace eidolon::agent::server
