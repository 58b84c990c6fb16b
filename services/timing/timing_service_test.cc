#include "services/timing/timing_service.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "services/base/hash.h"
#include "services/base/text.h"
#include "services/contract/workload/pointer_tag.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/runtime/grpc_server.h"
#include "services/runtime/metrics_page.h"
#include "services/timing/kernel/work_item.h"
#include "source_tree.h"

namespace eidolon::timing {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A service behind a real server on loopback, and a client.
class TimingServiceTest : public testing::Test {
 protected:
  explicit TimingServiceTest(const TimingOptions& options = {})
      : service_(*TimingService::Create(options, page_.registry(), clock_)),
        server_(*runtime::GrpcServer::Start({}, {service_.get()})),
        client_(v1::TimingService::NewStub(
            grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials()))) {}

  grpc::Status Ask(const v1::EstimateRequest& request, v1::EstimateResponse& response) {
    grpc::ClientContext context;
    return client_->Estimate(&context, request, &response);
  }

  static v1::EstimateRequest Request() {
    v1::EstimateRequest request;
    request.set_gpu("H100-SXM5-80GB");
    request.set_layout_version(workload::kLayoutVersion);
    return request;
  }

  static kernel::KernelLaunch Fill(std::int32_t elements) {
    kernel::KernelLaunch launch;
    launch.name =
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EELb0E"
        "EEviT0_T1_";
    launch.grid.x = static_cast<std::uint32_t>(elements / 1024 + 1);
    launch.block.x = 128;
    launch.parameters.assign(16, '\0');
    std::memcpy(launch.parameters.data(), &elements, 4);
    launch.slots = {{0, 4}, {4, 4}, {8, 8}};
    return launch;
  }

  // Returns a kernel of which neither a rule nor code is known.
  static kernel::KernelLaunch Unknown(std::uint32_t blocks) {
    kernel::KernelLaunch launch;
    launch.name = "nobody_knows";
    launch.module_hash[0] = 1;
    launch.grid.x = blocks;
    launch.block.x = 128;
    return launch;
  }

  static void Add(v1::EstimateRequest& request, const kernel::WorkItem& item) {
    const auto definition = kernel::DefinitionOf(item);
    request.add_definitions(definition.data(), definition.size());
  }

  base::SystemClock clock_;
  runtime::MetricsPage page_;
  std::unique_ptr<TimingService> service_;
  runtime::GrpcServer server_;
  std::unique_ptr<v1::TimingService::Stub> client_;
};

TEST_F(TimingServiceTest, AnswersEveryItemInOrder) {
  v1::EstimateRequest request = Request();
  Add(request, Fill(1 << 28));
  Add(request,
      kernel::Copy{.kind = workload::CopyKind::kHostToDevice, .pinned = true, .bytes = 1 << 20});
  Add(request, kernel::LibraryCall{{}, "cufftExecC2C", {}});
  v1::EstimateResponse response;

  const grpc::Status status = Ask(request, response);

  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_EQ(response.estimates_size(), 3);
  EXPECT_EQ(response.estimates(0).family(), "fill");
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_MODELLED);
  // 1 GiB written at about 3 TB/s.
  EXPECT_NEAR(static_cast<double>(response.estimates(0).duration_picoseconds()), 356e6, 40e6);
  EXPECT_EQ(response.estimates(1).family(), "memory_copy");
  EXPECT_EQ(response.estimates(2).source(), common::v1::ESTIMATE_SOURCE_ASSUMED);
}

TEST_F(TimingServiceTest, UnknownGpuNamesTheKnownOnes) {
  v1::EstimateRequest request;
  request.set_gpu("H100-SXM-80GB");
  v1::EstimateResponse response;

  const grpc::Status status = Ask(request, response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("did you mean 'H100-SXM5-80GB'"));
}

TEST_F(TimingServiceTest, NamesTheItemThatIsWrong) {
  v1::EstimateRequest request = Request();
  Add(request, Fill(1024));
  request.add_definitions("");
  v1::EstimateResponse response;

  const grpc::Status status = Ask(request, response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(),
              HasSubstr("definitions[1]: a work definition of 0 bytes is too short"));
}

TEST_F(TimingServiceTest, NamesTheFieldOfADefinitionThatIsWrong) {
  v1::EstimateRequest request = Request();
  Add(request, kernel::Gemm{.m = 8, .epilogue = workload::Epilogue{99}});
  v1::EstimateResponse response;

  const grpc::Status status = Ask(request, response);

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(
      status.error_message(),
      HasSubstr("definitions[0]: definition of a gemm: epilogue is 99, at most 16 is allowed"));
}

TEST_F(TimingServiceTest, RefusesALayoutItDoesNotKnowAndNamesBothVersions) {
  for (const std::uint32_t version : {0u, workload::kLayoutVersion + 1}) {
    v1::EstimateRequest request = Request();
    request.set_layout_version(version);
    Add(request, kernel::Gemm{.m = 8, .n = 8, .k = 8});
    v1::EstimateResponse response;

    const grpc::Status status = Ask(request, response);

    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(
        status.error_message(),
        HasSubstr(base::StrCat("layout version ", version, ", and this build reads versions up to ",
                               workload::kLayoutVersion)));
  }
}

TEST_F(TimingServiceTest, AnswersForAnotherClock) {
  const auto seconds = [this](double clock) {
    v1::EstimateRequest request = Request();
    request.set_clock(clock);
    Add(request, kernel::Gemm{.m = 8192, .n = 8192, .k = 8192});
    v1::EstimateResponse response;
    EXPECT_TRUE(Ask(request, response).ok());
    return static_cast<double>(response.estimates(0).duration_picoseconds()) * 1e-12;
  };

  const double own = seconds(0);
  EXPECT_DOUBLE_EQ(seconds(1), own);
  EXPECT_NEAR(seconds(0.5), 2 * own, 0.05 * own);
  EXPECT_DOUBLE_EQ(seconds(0), own);

  v1::EstimateRequest request = Request();
  request.set_clock(3);
  v1::EstimateResponse response;
  const grpc::Status status = Ask(request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("clock 3 is not between 0.25 and 1.5"));
}

TEST_F(TimingServiceTest, CountsHitsAndMisses) {
  v1::EstimateRequest request = Request();
  Add(request, Fill(1024));
  Add(request, Fill(1024));
  v1::EstimateResponse response;

  ASSERT_TRUE(Ask(request, response).ok());

  EXPECT_THAT(page_.Text(), HasSubstr("eidolon_timing_cache_hits_total 1"));
  EXPECT_THAT(page_.Text(), HasSubstr("eidolon_timing_cache_misses_total 1"));
  EXPECT_THAT(page_.Text(), HasSubstr("eidolon_timing_items_total{source=\"modelled\"} 2"));
}

TEST_F(TimingServiceTest, DescribesAGpu) {
  grpc::ClientContext context;
  v1::DescribeGpuRequest request;
  request.set_gpu("B200-SXM-180GB");
  v1::DescribeGpuResponse response;

  ASSERT_TRUE(client_->DescribeGpu(&context, request, &response).ok());

  EXPECT_EQ(response.gpu().product_name(), "NVIDIA B200");
  EXPECT_EQ(response.gpu().multiprocessors(), 148u);
  EXPECT_EQ(response.gpu().boost_clock_megahertz(), 1965u);
  EXPECT_DOUBLE_EQ(response.gpu().peak_flops().at("bf16"), 2250e12);
}

TEST_F(TimingServiceTest, ListsTheGpus) {
  grpc::ClientContext context;
  v1::ListGpusResponse response;

  ASSERT_TRUE(client_->ListGpus(&context, {}, &response).ok());

  EXPECT_GE(response.names_size(), 10);
}

TEST_F(TimingServiceTest, AnImportedProfileWinsOverTheModel) {
  v1::EstimateRequest request = Request();
  // No shape of a shipped profile.
  Add(request, kernel::Gemm{.m = 1000, .n = 1000, .k = 1000, .type_a = 14});
  v1::EstimateResponse response;
  ASSERT_TRUE(Ask(request, response).ok());
  EXPECT_NE(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_MEASURED);

  EXPECT_FALSE(service_->ImportProfile("{}"));
  EXPECT_TRUE(service_->ExportProfile("H100-SXM5-80GB"));
}

TEST(TimingServiceTokenTest, AnswersOnlyWhoeverSendsATokenOfTheController) {
  const base::SystemClock clock;
  const auto issuer = runtime::TokenIssuer::Generate();
  runtime::MetricsPage page;
  TimingOptions options;
  options.gate = *runtime::TokenGate::Make(issuer.public_key(), clock);
  const auto service = *TimingService::Create(options, page.registry(), clock);
  const auto server = *runtime::GrpcServer::Start({}, {service.get()});
  const auto client = v1::TimingService::NewStub(
      grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const std::int64_t later = clock.UnixNs() / 1'000'000'000 + 3600;
  const std::string good = issuer.Issue({.is_controller = false, .job = "team/a/1"}, later);
  const std::string foreign =
      runtime::TokenIssuer::Generate().Issue({.is_controller = true, .job = {}}, later);

  for (const std::string& token : {std::string(), foreign, good}) {
    const auto code = token == good ? grpc::StatusCode::OK : grpc::StatusCode::UNAUTHENTICATED;
    grpc::ClientContext contexts[3];
    for (auto& context : contexts) runtime::AttachToken(token, &context);
    v1::EstimateRequest estimate;
    estimate.set_gpu("H100-SXM5-80GB");
    estimate.set_layout_version(workload::kLayoutVersion);
    v1::EstimateResponse estimated;
    v1::DescribeGpuRequest describe;
    describe.set_gpu("H100-SXM5-80GB");
    v1::DescribeGpuResponse described;
    v1::ListGpusResponse listed;

    EXPECT_EQ(client->Estimate(&contexts[0], estimate, &estimated).error_code(), code);
    EXPECT_EQ(client->DescribeGpu(&contexts[1], describe, &described).error_code(), code);
    EXPECT_EQ(client->ListGpus(&contexts[2], {}, &listed).error_code(), code);
  }
}

// Asks for a kernel of a file of test data: without its code first, then with it.
class CountedKernelTest : public TimingServiceTest {
 protected:
  // The first kernel of the file.
  kernel::KernelLaunch KernelOf(std::string_view file) {
    std::ifstream stream(
        base::StrCat(EIDOLON_SOURCE_DIR, "/services/machine_code/cubin/testdata/", file),
        std::ios::binary);
    code_.assign(std::istreambuf_iterator<char>(stream), {});
    const base::Digest digest = base::Hash128(code_.data(), code_.size());
    hash_.assign(16, '\0');
    std::memcpy(hash_.data(), &digest.high, 8);
    std::memcpy(hash_.data() + 8, &digest.low, 8);
    kernel::KernelLaunch launch;
    const auto parsed = cubin::ParseCubin(std::as_bytes(std::span(code_)));
    launch.name = parsed->functions.front().name;
    std::memcpy(launch.module_hash, hash_.data(), hash_.size());
    launch.parameters.assign(24, '\0');
    return launch;
  }

  v1::EstimateResponse Answer(const kernel::KernelLaunch& launch) {
    Add(request_, launch);
    v1::EstimateResponse response;
    EXPECT_TRUE(Ask(request_, response).ok());
    EXPECT_THAT(response.wanted_modules(), ElementsAre(hash_));
    EXPECT_EQ(response.estimates_size(), 0);
    v1::UploadModuleRequest upload;
    upload.set_module_hash(hash_);
    upload.set_code(code_);
    v1::UploadModuleResponse uploaded;
    grpc::ClientContext context;
    EXPECT_TRUE(client_->UploadModule(&context, upload, &uploaded).ok());
    request_.set_modules_sent(true);
    response.Clear();
    EXPECT_TRUE(Ask(request_, response).ok());
    return response;
  }

 private:
  v1::EstimateRequest request_ = Request();
  std::string code_;
  std::string hash_;
};

TEST_F(CountedKernelTest, AKernelThatNoModelKnowsIsCountedFromItsCode) {
  kernel::KernelLaunch launch = KernelOf("stores.cubin");
  launch.name = "divide";
  launch.grid.x = 64;
  launch.block.x = 128;

  const v1::EstimateResponse response = Answer(launch);

  ASSERT_EQ(response.estimates_size(), 1);
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_MODELLED);
  EXPECT_GE(response.estimates(0).relative_error(), 0.25);
  EXPECT_EQ(response.estimates(0).counts().matrix_flops(), 0u);
}

TEST_F(CountedKernelTest, MatrixOperationsAreThoseThatItsCodeExecutes) {
  kernel::KernelLaunch launch = KernelOf("matrix.cubin");
  launch.grid.x = 1000;
  launch.block.x = 32;
  const std::uint64_t pointers[3] = {workload::kPointerTag, workload::kPointerTag,
                                     workload::kPointerTag};
  launch.parameters.assign(reinterpret_cast<const char*>(pointers), sizeof(pointers));

  const v1::EstimateResponse response = Answer(launch);

  ASSERT_EQ(response.estimates_size(), 1);
  // 16 x 16 times 16 x 8 in each block.
  EXPECT_EQ(response.estimates(0).counts().matrix_flops(), 1000u * 2 * 16 * 16 * 8);
}

TEST_F(TimingServiceTest, AnswersAssumedWithoutTheCodeOfAModule) {
  v1::EstimateRequest request = Request();
  Add(request, Unknown(64));
  request.set_modules_sent(true);
  v1::EstimateResponse response;
  ASSERT_TRUE(Ask(request, response).ok());
  ASSERT_EQ(response.estimates_size(), 1);
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_ASSUMED);
}

// A service that knows the GPU of the scenarios' golden results.
class FixedGpuTest : public TimingServiceTest {
 protected:
  FixedGpuTest()
      : TimingServiceTest({.gpu_model_directory = EIDOLON_SOURCE_DIR "/e2e/scenarios/gpus"}) {}
};

TEST_F(FixedGpuTest, AnswersByItsRuleAndWantsNoCode) {
  v1::EstimateRequest request = Request();
  request.set_gpu("fixed-h100");
  Add(request, Unknown(264));
  v1::EstimateResponse response;

  ASSERT_TRUE(Ask(request, response).ok());

  EXPECT_EQ(response.wanted_modules_size(), 0);
  ASSERT_EQ(response.estimates_size(), 1);
  EXPECT_EQ(response.estimates(0).duration_picoseconds(), 2'506'023u);
  EXPECT_EQ(response.estimates(0).source(), common::v1::ESTIMATE_SOURCE_ASSUMED);
  EXPECT_EQ(response.estimates(0).family(), "fixed");
}

TEST_F(FixedGpuTest, TellsWhatHostAndNetworkTakeBesideIt) {
  v1::DescribeGpuRequest request;
  request.set_gpu("fixed-h100");
  v1::DescribeGpuResponse response;
  grpc::ClientContext context;

  ASSERT_TRUE(client_->DescribeGpu(&context, request, &response).ok());

  EXPECT_EQ(response.code_wanted(), v1::CODE_WANTED_UNSPECIFIED);
  EXPECT_EQ(response.gpu().fixed().host_call_picoseconds(), 1'003'111u);
  EXPECT_EQ(response.gpu().fixed().host_operator_picoseconds(), 1'750'929u);
  EXPECT_EQ(response.gpu().fixed().transfer_picoseconds(), 15'013'771u);
  EXPECT_EQ(response.gpu().fixed().transfer_bytes_per_second(), 100'037'300'000u);
}

}  // namespace
}  // namespace eidolon::timing
