// The timing service with a worker of its own, which loads a driver that goes wrong on demand
// (replay/fake_driver.cc): kernels last 3 ms there,
// the launch gap of 1 us before them included.
#include "services/timing/gpu_backend.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "services/base/hash.h"
#include "services/contract/workload/grouped_gemm.h"
#include "services/contract/workload/pointer_tag.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/timing/kernel/grouped_gemm.h"
#include "services/timing/kernel/parameters.h"
#include "services/timing/timing_service.h"
#include "source_tree.h"

namespace eidolon::timing {
namespace {

using testing::HasSubstr;

constexpr const char* kWorker = EIDOLON_BINARY_DIR "/bin/eidolon-timing-worker";
constexpr const char* kDriver = EIDOLON_BINARY_DIR "/tests/libeidolon_fake_cuda.so";
constexpr const char* kGpu = "H100-SXM5-80GB";
constexpr std::uint64_t kBegin = 0x6b0100000000;
constexpr std::uint64_t kKernelPs = 2'999'950'000;  // Less the gap in a graph.
const std::string kCode = "module of the test";

std::string HashOf(const std::string& code) {
  const base::Digest digest = base::Hash128(code.data(), code.size());
  std::string hash(reinterpret_cast<const char*>(&digest.high), 8);
  return hash.append(reinterpret_cast<const char*>(&digest.low), 8);
}

class GpuBackendTest : public testing::Test {
 protected:
  GpuBackendTest() : folder_(testing::TempDir() + "/backend-XXXXXX") {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    options_.profile_file = folder_ + "/profile.sqlite";
    options_.gpu.worker = {kWorker, "--driver", kDriver, "--libraries", folder_};
    options_.gpu.item_limit_ms = 5'000;
    options_.gpu.backoff_ms_min = 1;
  }
  ~GpuBackendTest() override {
    client_.reset();
    server_.reset();
    service_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // A service whose driver follows the script.
  void Start(const char* script = "") {
    setenv("EIDOLON_FAKE_DRIVER", script, 1);
    client_.reset();
    server_.reset();
    service_.reset();
    page_.emplace();
    service_ = *TimingService::Create(options_, page_->registry(), clock_);
    server_.emplace(*runtime::GrpcServer::Start({}, {service_.get()}));
    client_ = v1::TimingService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  // A kernel of a size of its own, with a pointer and, perhaps, a word that is none but reaches
  // memory that nobody has.
  static void AddKernel(v1::EstimateRequest& request, std::uint32_t blocks, bool stray = false) {
    Add(request, Launch(request, blocks, stray));
  }

  // The same, with its replay added to the request.
  static kernel::KernelLaunch Launch(v1::EstimateRequest& request, std::uint32_t blocks,
                                     bool stray) {
    v1::Replay& replay = *request.add_replays();
    replay.set_item(static_cast<std::uint32_t>(request.definitions_size()));
    kernel::KernelLaunch launch;
    launch.name = "kernel_of_the_test";
    std::memcpy(launch.module_hash, HashOf(kCode).data(), sizeof(launch.module_hash));
    launch.grid.x = blocks;
    launch.block.x = 128;
    const std::uint64_t words[] = {kBegin + 0x200, stray ? kBegin + 0x40000000 : 7};
    const std::uint64_t blanked[] = {workload::kPointerTag, words[1]};
    replay.set_parameters(words, sizeof(words));
    launch.parameters.assign(reinterpret_cast<const char*>(blanked), sizeof(blanked));
    v1::Range& range = *replay.add_allocations();
    range.set_begin(kBegin);
    range.set_size_bytes(1 << 20);
    return launch;
  }

  // A kernel that finds its sizes in device memory; the shim tells them behind its parameters.
  static void AddGroupedGemm(v1::EstimateRequest& request) {
    kernel::KernelLaunch launch = Launch(request, 64, false);
    const std::uint64_t gemm[] = {workload::kGroupedGemmTag, 512, 512, 512, 8};
    launch.slots = {{static_cast<std::uint32_t>(launch.parameters.size()), sizeof(gemm)}};
    launch.parameters.append(reinterpret_cast<const char*>(gemm), sizeof(gemm));
    Add(request, launch);
  }

  static void Add(v1::EstimateRequest& request, const kernel::WorkItem& item) {
    const auto definition = kernel::DefinitionOf(item);
    request.add_definitions(definition.data(), definition.size());
  }

  v1::EstimateResponse Ask(v1::EstimateRequest& request) {
    request.set_gpu(kGpu);
    request.set_layout_version(workload::kLayoutVersion);
    request.set_modules_sent(true);
    v1::EstimateResponse response;
    grpc::ClientContext context;
    const auto status = client_->Estimate(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  grpc::StatusCode Upload(const std::string& hash, const std::string& code) {
    v1::UploadModuleRequest request;
    request.set_module_hash(hash);
    request.set_code(code);
    v1::UploadModuleResponse response;
    grpc::ClientContext context;
    return client_->UploadModule(&context, request, &response).error_code();
  }
  bool Measures(const char* gpu) {
    v1::DescribeGpuRequest request;
    request.set_gpu(gpu);
    v1::DescribeGpuResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(client_->DescribeGpu(&context, request, &response).ok());
    return response.measures();
  }
  static std::string SourcesOf(const v1::EstimateResponse& response) {
    std::string sources;
    for (const auto& estimate : response.estimates()) {
      EXPECT_GT(estimate.duration_picoseconds(), 0u);
      const bool measured = estimate.source() == common::v1::ESTIMATE_SOURCE_MEASURED;
      if (measured) {
        EXPECT_EQ(estimate.duration_picoseconds(), kKernelPs);
      }
      sources += measured ? "M" : "-";
    }
    return sources;
  }

  std::string folder_;
  TimingOptions options_;
  base::SystemClock clock_;
  std::optional<runtime::MetricsPage> page_;
  std::unique_ptr<TimingService> service_;
  std::optional<runtime::GrpcServer> server_;
  std::unique_ptr<v1::TimingService::Stub> client_;
};

TEST_F(GpuBackendTest, AKernelIsMeasuredOnceItsModuleIsThereAndThenForEver) {
  Start();
  v1::EstimateRequest request;
  AddKernel(request, 64);
  request.set_gpu(kGpu);
  request.set_layout_version(workload::kLayoutVersion);
  v1::EstimateResponse first;
  grpc::ClientContext context;
  ASSERT_TRUE(client_->Estimate(&context, request, &first).ok());
  EXPECT_EQ(first.estimates_size(), 0);
  ASSERT_EQ(first.wanted_modules_size(), 1);
  EXPECT_EQ(first.wanted_modules(0), HashOf(kCode));
  EXPECT_EQ(Upload(HashOf(kCode), "else"), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);

  EXPECT_EQ(SourcesOf(Ask(request)), "M");

  const auto profile = service_->ExportProfile(kGpu);
  ASSERT_TRUE(profile);
  EXPECT_THAT(*profile, HasSubstr("\"cuda\":\"13.2\""));
  EXPECT_THAT(*profile, HasSubstr("\"clocks\":\"at most 1980 MHz"));
  EXPECT_THAT(*profile, HasSubstr("\"median_ps\":2999950000"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"measured\"} 1"));
  // Without a GPU the profile answers the same.
  options_.gpu.worker.clear();
  Start();
  request.clear_replays();
  EXPECT_FALSE(Measures(kGpu));
  EXPECT_EQ(SourcesOf(Ask(request)), "M");
}

TEST_F(GpuBackendTest, AMeasurementShorterThanTheModelsFloorStaysWhatItIs) {
  setenv("EIDOLON_FAKE_LAUNCH_MS", "0.00115", 1);  // The gap of 0.05 us included.
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  AddKernel(request, 64);

  const auto response = Ask(request);

  unsetenv("EIDOLON_FAKE_LAUNCH_MS");
  ASSERT_EQ(response.estimates_size(), 1);
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_MEASURED);
  // The model's shortest kernel lasts 2 us. Events count in single precision milliseconds, and in a
  // graph 0.05 us lie before the work.
  EXPECT_NEAR(static_cast<double>(response.estimates(0).duration_picoseconds()), 1'100'000, 1'000);
}

TEST_F(GpuBackendTest, AMeasurementShorterThanTheGapInAGraphIsToldOfTheGpusFile) {
  setenv("EIDOLON_FAKE_LAUNCH_MS", "0.00002", 1);  // The gap alone is 0.05 us.
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  AddKernel(request, 64);
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_below_gap_total 0"));

  const auto response = Ask(request);

  unsetenv("EIDOLON_FAKE_LAUNCH_MS");
  ASSERT_EQ(response.estimates_size(), 1);
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_MEASURED);
  EXPECT_EQ(response.estimates(0).duration_picoseconds(), 1u);  // Behind the gap nothing is left.
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_below_gap_total 1"));
}

TEST_F(GpuBackendTest, TellsWhichLibrariesItsWorkerFound) {
  Start();
  for (const char* library : {"cublas", "cublas_lt", "cudnn"}) {
    EXPECT_THAT(page_->Text(), HasSubstr(std::string("eidolon_timing_gpu_library{library=\"") +
                                         library + "\"} 0"));
  }
  options_.gpu.worker.back() = EIDOLON_BINARY_DIR "/tests/fake_libraries";
  Start();
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_gpu_library{library=\"cublas\"} 0"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_gpu_library{library=\"cublas_lt\"} 1"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_gpu_library{library=\"cudnn\"} 1"));
}

TEST_F(GpuBackendTest, EqualWorkIsMeasuredOnceAndWithoutItsCodeNotAtAll) {
  Start();
  v1::EstimateRequest request;
  AddKernel(request, 64);
  EXPECT_EQ(SourcesOf(Ask(request)), "-");
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  AddKernel(request, 64);
  AddKernel(request, 64);
  AddKernel(request, 65);
  Add(request, kernel::LibraryCall{{}, "cufftExecC2C", {}});

  EXPECT_EQ(SourcesOf(Ask(request)), "MMMM-");

  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"measured\"} 2"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replay_queue_items 0"));
}

TEST_F(GpuBackendTest, AKernelThatFaultsIsAnsweredByTheModelAndTheNextIsMeasured) {
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  AddKernel(request, 64);
  AddKernel(request, 65, /*stray=*/true);
  AddKernel(request, 66);

  EXPECT_EQ(SourcesOf(Ask(request)), "M-M");

  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"fault\"} 1"));
  EXPECT_EQ(SourcesOf(Ask(request)), "M-M");  // It is not tried again.
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"fault\"} 1"));
}

TEST_F(GpuBackendTest, ItemsBehindOneThatFaultsAreTriedAgain) {
  options_.gpu.batch_max = 4;
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  for (std::uint32_t blocks = 64; blocks < 76; ++blocks) {
    AddKernel(request, blocks, /*stray=*/blocks % 3 == 2);
  }

  EXPECT_EQ(SourcesOf(Ask(request)), "M-MM-MM-MM-M");

  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"fault\"} 4"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"measured\"} 8"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_unmeasured_total{reason=\"failed\"} 4"));
}

TEST_F(GpuBackendTest, WhatIsNotMeasuredIsCountedByReason) {
  options_.gpu.queue_max = 0;
  Start();
  v1::EstimateRequest request;
  AddKernel(request, 64);  // Its code is not there.
  AddGroupedGemm(request);
  Add(request, kernel::LibraryCall{{}, "cufftExecC2C", {}});
  Add(request,
      kernel::Copy{.kind = workload::CopyKind::kPeer, .bytes = 1 << 20, .row_bytes = 1 << 20});

  EXPECT_EQ(SourcesOf(Ask(request)), "----");

  EXPECT_THAT(page_->Text(),
              HasSubstr("eidolon_timing_unmeasured_total{reason=\"code_unknown\"} 1"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_unmeasured_total{reason=\"queue_full\"} 1"));
  EXPECT_THAT(page_->Text(),
              HasSubstr("eidolon_timing_unmeasured_total{reason=\"unsupported\"} 2"));
  options_.gpu.queue_max = 10;
  options_.profile_file = folder_ + "/second";
  Start();
  EXPECT_EQ(SourcesOf(Ask(request)), "----");
  EXPECT_THAT(page_->Text(),
              HasSubstr("eidolon_timing_unmeasured_total{reason=\"unsupported\"} 3"));
}

TEST_F(GpuBackendTest, AnItemThatLackedCodeOrMemoryIsMeasuredWhenTheyAreThere) {
  Start();
  v1::EstimateRequest request;
  AddKernel(request, 64);
  EXPECT_EQ(SourcesOf(Ask(request)), "-");
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest without_memory = request;
  without_memory.clear_replays();
  EXPECT_EQ(SourcesOf(Ask(without_memory)), "-");

  EXPECT_EQ(SourcesOf(Ask(request)), "M");
}

TEST_F(GpuBackendTest, AnItemThatFoundTheQueueFullIsMeasuredLater) {
  options_.gpu.queue_max = 1;
  Start();
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  for (std::uint32_t blocks = 64; blocks < 68; ++blocks) AddKernel(request, blocks);

  // Each request finds the queue empty, so that one more is measured at least.
  for (int i = 0; i < 3; ++i) Ask(request);

  EXPECT_EQ(SourcesOf(Ask(request)), "MMMM");
}

TEST_F(GpuBackendTest, AnItemThatFoundNoWorkerIsMeasuredWhenTheGpuIsBack) {
  const std::string absent = folder_ + "/absent";
  const std::string script =
      "test -e " + absent + " && exit 5; exec " + kWorker + " --driver " + kDriver + " \"$@\"";
  options_.gpu.worker = {"sh", "-c", script, "sh"};
  Start("cuGraphLaunch:4:die");
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  std::ofstream(absent) << "";
  v1::EstimateRequest request;
  for (std::uint32_t blocks = 64; blocks < 67; ++blocks) AddKernel(request, blocks);
  EXPECT_EQ(SourcesOf(Ask(request)), "M--");
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_unmeasured_total{reason=\"failed\"} 1"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_unmeasured_total{reason=\"no_worker\"} 1"));
  std::filesystem::remove(absent);

  EXPECT_EQ(SourcesOf(Ask(request)), "M-M");  // The one that ended the worker is not tried again.
}

TEST_F(GpuBackendTest, AWorkerThatDiesHangsOrLosesItsGpuCostsOneItem) {
  // A worker's graphs: one when it starts, then two for each item.
  for (const char* fault : {"die", "719", "hang"}) {
    const std::string kind = fault;
    options_.profile_file = folder_ + "/" + kind;
    options_.gpu.item_limit_ms = kind == "hang" ? 2'000 : 60'000;
    Start(("cuGraphLaunch:4:" + kind).c_str());
    EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
    v1::EstimateRequest request;
    for (const std::uint32_t blocks : {64, 65, 66}) AddKernel(request, blocks);

    EXPECT_EQ(SourcesOf(Ask(request)), "M-M") << kind;

    const std::string outcome = kind == "hang" ? "hang" : "fault";
    EXPECT_THAT(page_->Text(),
                HasSubstr("eidolon_timing_replays_total{outcome=\"" + outcome + "\"} 1"));
  }
}

TEST_F(GpuBackendTest, AGpuThatDoesNotComeBackLeavesTheRestToTheModels) {
  const std::string script = "test -e " + folder_ + "/used && exit 5; touch " + folder_ +
                             "/used; exec " + kWorker + " --driver " + kDriver + " \"$@\"";
  options_.gpu.worker = {"sh", "-c", script, "sh"};
  Start("cuGraphLaunch:4:die");
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK);
  v1::EstimateRequest request;
  for (std::uint32_t blocks = 64; blocks < 70; ++blocks) AddKernel(request, blocks);

  EXPECT_EQ(SourcesOf(Ask(request)), "M-----");

  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"fault\"} 1"));
  EXPECT_THAT(page_->Text(), HasSubstr("eidolon_timing_replays_total{outcome=\"lost\"} 4"));
}

TEST_F(GpuBackendTest, AMachineWithoutADriverHasModels) {
  options_.gpu.worker = {kWorker, "--driver", "libnowhere.so.1"};
  Start();
  v1::EstimateRequest request;
  AddKernel(request, 64);

  EXPECT_FALSE(Measures(kGpu));
  EXPECT_EQ(SourcesOf(Ask(request)), "-");
  EXPECT_EQ(Upload(HashOf(kCode), kCode), grpc::StatusCode::OK) << "code is counted without a GPU";
}

TEST_F(GpuBackendTest, OtherGpusAreNotMeasuredOnThisOne) {
  Start();

  EXPECT_TRUE(Measures(kGpu));
  EXPECT_FALSE(Measures("A100-SXM4-80GB"));
  EXPECT_FALSE(Measures("H200-SXM-141GB"));
}

}  // namespace
}  // namespace eidolon::timing
