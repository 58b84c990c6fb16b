#include "services/agent/timeline/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "eidolon/common/v1/common.pb.h"
#include "services/agent/timeline/trace_reader_test.h"
#include "services/contract/workload/work.h"
#include "services/testing/temporary_directory.h"

namespace eidolon::agent::timeline {
namespace {

namespace wire = ::eidolon::ring;
using base::SimTime;
using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

constexpr std::int64_t kMicrosecond = 1'000'000;
constexpr char kScale[] =
    "_ZN2at6native5scaleIfEEvPT_f";  // void at::native::scale<float>(float*, float)

// Rank 8 is process 2 of server 1, and has one iteration of 100 us.
class RenderTest : public ::testing::Test {
 protected:
  RenderTest() {
    costs_.InternBasis(estimate::Source::kMeasured, 0, "none", costs_.InternName("none"));
    common::v1::Estimate estimate;
    estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
    estimate.set_relative_error(0.25F);
    estimate.set_family("elementwise");
    kernel_ = costs_.Intern(KernelDefinition());
    costs_.Learn(kernel_, estimate);
    copy_ = costs_.Intern(CopyDefinition());
    costs_.Learn(copy_, estimate);
  }

  static std::vector<std::byte> KernelDefinition(std::string_view name = kScale) {
    std::vector<std::byte> bytes((sizeof(workload::Kernel) + name.size() + 7) / 8 * 8);
    workload::Kernel work{};
    work.header = {.kind = workload::WorkKind::kKernel,
                   .bytes = static_cast<std::uint32_t>(bytes.size())};
    work.grid = {4, 2, 1};
    work.block = {128, 1, 1};
    work.name_bytes = static_cast<std::uint32_t>(name.size());
    std::memcpy(bytes.data(), &work, sizeof(work));
    std::memcpy(bytes.data() + sizeof(work), name.data(), name.size());
    return bytes;
  }
  static std::vector<std::byte> CopyDefinition() {
    std::vector<std::byte> bytes(sizeof(workload::Copy));
    workload::Copy work{};
    work.header = {.kind = workload::WorkKind::kCopy, .bytes = sizeof(work)};
    work.kind = workload::CopyKind::kHostToDevice;
    work.bytes = 4096;
    std::memcpy(bytes.data(), &work, sizeof(work));
    return bytes;
  }

  // Times in microseconds.
  struct Times {
    std::int64_t start = 0;
    std::int64_t finish = 0;
  };
  device::ResolvedOp Op(device::OpKind kind, std::uint32_t stream, const Times& times,
                        std::uint32_t tag = 0) {
    return {.sequence = next_++,
            .stream = stream,
            .device = 0,
            .kind = kind,
            .host_bound = false,
            .tag = tag,
            .ready = SimTime{times.start * kMicrosecond},
            .start = SimTime{times.start * kMicrosecond},
            .finish = SimTime{times.finish * kMicrosecond}};
  }
  void Call(HostCall call, std::int64_t at, std::uint32_t operations = 1) {
    recorder_.NoteCall(call, {.sequence = next_, .host_clock = SimTime{at * kMicrosecond}},
                       operations);
  }
  void Launch(std::uint32_t work, std::uint32_t stream, const Times& times) {
    Call(HostCall::kLaunch, times.start - 1);
    recorder_.NoteOperation(Op(device::OpKind::kWork, stream, times, work));
  }

  TraceReader Rendered() {
    recorder_.EndIteration({.index = 0,
                            .sequence_end = next_,
                            .start = {},
                            .end = SimTime{100 * kMicrosecond},
                            .split = {}});
    recorder_.Close(next_, SimTime{100 * kMicrosecond});
    TraceWriter writer(path_, 1);
    writer.AddProcess({.uuid = ServerTrack(1), .pid = 2, .name = "server 1"});
    Render(recorder_,
           {.server = 1,
            .process = 2,
            .rank = 8,
            .costs = &costs_,
            .plain = [](const std::string& text) { return text; }},
           &writer);
    EXPECT_TRUE(writer.Finish().has_value());
    return TraceReader(path_);
  }

  eidolon::testing::TemporaryDirectory folder_;
  std::string path_ = folder_ / "trace.pftrace";
  cost::CostCache costs_{132};
  Recorder recorder_{{.first = 0, .iterations = 1, .operations_max = 1000}};
  std::uint32_t kernel_ = 0;
  std::uint32_t copy_ = 0;
  std::uint64_t next_ = 0;
};

TEST_F(RenderTest, AKernelOfPytorchIsCalledByItsOperatorAndTellsItsFunction) {
  constexpr char kAdd[] =
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEvv";
  common::v1::Estimate estimate;
  estimate.set_source(common::v1::ESTIMATE_SOURCE_MODELLED);
  const std::uint32_t add = costs_.Intern(KernelDefinition(kAdd));
  costs_.Learn(add, estimate);
  Launch(add, 7, {.start = 10, .finish = 30});

  const TraceReader trace = Rendered();

  const auto kernels = trace.On("GPU 0 stream 7: kernels");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].name, "aten::add");
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("function",
                                                  "at::native::vectorized_elementwise_kernel<4, "
                                                  "at::native::CUDAFunctor_add<float> >")));
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("kernel", kAdd)));
}

TEST_F(RenderTest, AKernelShowsItsNameAndHowItsTimeIsKnownAndItsCallPointsToIt) {
  Launch(kernel_, 7, {.start = 10, .finish = 30});
  Launch(copy_, 7, {.start = 40, .finish = 50});

  const TraceReader trace = Rendered();

  const auto kernels = trace.On("GPU 0 stream 7: copies");  // As many of each: the first by name.
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "at::native::scale<float>");
  EXPECT_EQ(kernels[0].category, "kernel");
  EXPECT_EQ(kernels[0].start, 10'000u);
  EXPECT_EQ(kernels[0].end, 30'000u);
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("source", "modelled")));
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("relative_error", "0.250000")));
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("grid", "4,2,1")));
  EXPECT_THAT(kernels[0].arguments, Contains(Pair("kernel", kScale)));
  EXPECT_EQ(kernels[1].category, "copy");
  EXPECT_THAT(kernels[1].arguments, Contains(Pair("bytes", "4096")));
  const auto calls = trace.On("host");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(calls[1].name, "cudaMemcpyAsync");
  ASSERT_EQ(calls[0].flows.size(), 1u);
  EXPECT_EQ(calls[0].flows, kernels[0].flows);
  EXPECT_NE(calls[0].flows, calls[1].flows);
}

TEST_F(RenderTest, ACollectiveOccupiesItsStreamWhileItWaitsForOtherRanks) {
  Call(HostCall::kCommunication, 5);
  device::ResolvedOp op = Op(device::OpKind::kCollective, 20, {.start = 30, .finish = 50});
  op.ready = SimTime{10 * kMicrosecond};
  recorder_.NoteCollective(op, {.basis = 0,
                                .name = costs_.InternName("COLLECTIVE_KIND_ALL_REDUCE"),
                                .communicator = 3,
                                .bytes = 1'000'000,
                                .transfers = {}});

  const TraceReader trace = Rendered();

  const auto slices = trace.On("GPU 0 stream 20: NCCL");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0].name, "waits for other ranks");
  EXPECT_EQ(slices[0].end - slices[0].start, 20'000u);
  EXPECT_EQ(slices[1].name, "ncclAllReduce");
  EXPECT_EQ(slices[1].start, 10'000u);
  EXPECT_EQ(slices[1].end, 50'000u);
  EXPECT_THAT(slices[1].arguments, Contains(Pair("bytes", "1000000")));
  ASSERT_EQ(trace.counts().size(), 2u);  // 1 MB in 20 us.
  EXPECT_EQ(trace.counts()[0].value, 50'000'000'000);
  EXPECT_EQ(trace.counts()[1].value, 0);
}

TEST_F(RenderTest, ASendAndItsReceiveShareAFlow) {
  const std::uint32_t name = costs_.InternName("COLLECTIVE_KIND_POINT_TO_POINT");
  const auto group = [&](std::int32_t rank, bool is_send, std::int32_t peer) {
    return Collective{.basis = 0,
                      .name = name,
                      .communicator = 3,
                      .rank = rank,
                      .transfers = {{.is_send = is_send, .peer = peer, .bytes = 8, .sequence = 4}}};
  };
  recorder_.NoteCollective(Op(device::OpKind::kCollective, 20, {.start = 10, .finish = 20}),
                           group(0, true, 1));
  recorder_.NoteCollective(Op(device::OpKind::kCollective, 21, {.start = 10, .finish = 20}),
                           group(1, false, 0));
  recorder_.NoteCollective(Op(device::OpKind::kCollective, 22, {.start = 10, .finish = 20}),
                           group(1, true, 0));

  const TraceReader trace = Rendered();

  const auto flow = [&](const char* track) { return trace.On(track).at(0).flows; };
  EXPECT_EQ(flow("GPU 0 stream 20: NCCL"), flow("GPU 0 stream 21: NCCL"));
  EXPECT_NE(flow("GPU 0 stream 20: NCCL"), flow("GPU 0 stream 22: NCCL"));
  EXPECT_EQ(trace.On("GPU 0 stream 20: NCCL")[0].name, "ncclSend, ncclRecv");
}

TEST_F(RenderTest, BranchesOfAGraphThatOverlapGetTracksOfTheirOwn) {
  Call(HostCall::kGraphLaunch, 5, 3);
  for (const Times& times : {Times{10, 30}, Times{10, 20}, Times{20, 40}}) {
    recorder_.NoteOperation(Op(device::OpKind::kWork, 7, times, kernel_));
  }

  const TraceReader trace = Rendered();

  EXPECT_EQ(trace.On("GPU 0 stream 7: kernels").size(), 1u);
  EXPECT_EQ(trace.On("GPU 0 stream 7: kernels (2)").size(), 2u);
  EXPECT_EQ(trace.On("host")[0].flows.size(), 3u);
  EXPECT_EQ(trace.On("host")[0].name, "cudaGraphLaunch");
}

TEST_F(RenderTest, IterationsRangesWaitsAndMemoryHaveTracks) {
  recorder_.NoteMemory(
      {.device = 0, .at = SimTime{5 * kMicrosecond}, .sequence = 0, .allocations = 1 << 20});
  recorder_.OpenRange(0, "forward", SimTime{2 * kMicrosecond});
  Launch(kernel_, 7, {.start = 10, .finish = 30});
  recorder_.CloseRange(0, {.sequence = 1, .host_clock = SimTime{12 * kMicrosecond}});
  recorder_.DefineLine(1, "train.py:41 in step");
  recorder_.NoteWait(HostCall::kSynchronizeStream, SimTime{12 * kMicrosecond},
                     {.sequence = 1, .host_clock = SimTime{30 * kMicrosecond}}, /*line=*/1);

  const TraceReader trace = Rendered();

  const auto iterations = trace.On("iterations");
  ASSERT_EQ(iterations.size(), 1u);
  EXPECT_EQ(iterations[0].name, "iteration 0");
  EXPECT_THAT(iterations[0].arguments, Contains(Pair("picoseconds", "100000000")));
  EXPECT_THAT(iterations[0].arguments, Contains(Pair("operations_left_out", "0")));
  ASSERT_EQ(trace.On("NVTX").size(), 1u);
  EXPECT_EQ(trace.On("NVTX")[0].name, "forward");
  const auto host = trace.On("host");
  ASSERT_EQ(host.size(), 2u);
  EXPECT_EQ(host[1].name, "cudaStreamSynchronize");
  EXPECT_EQ(host[1].category, "wait");
  EXPECT_THAT(host[0].arguments, Not(Contains(Key("python"))));
  EXPECT_THAT(host[1].arguments, Contains(Pair("python", "train.py:41 in step")));
  EXPECT_EQ(host[1].end, 30'000u);
  EXPECT_THAT(trace.tracks(), Contains("GPU 0 memory: allocations"));
  EXPECT_THAT(trace.tracks(), Not(Contains("GPU 0 memory: parameters"))) << "no blocks were told";
  EXPECT_THAT(trace.tracks(), Contains("rank 8"));
}

TEST_F(RenderTest, MemoryIsShownByWhatItTurnsOutToHold) {
  const auto block = [&](std::uint64_t address, std::int64_t bytes, std::int64_t at,
                         bool is_activation = false) {
    wire::MemoryBlockRecord record{};
    record.address = address;
    record.bytes = bytes;
    record.is_activation = is_activation ? 1 : 0;
    recorder_.NoteBlock(record, {.sequence = next_, .host_clock = SimTime{at * kMicrosecond}});
  };
  recorder_.NoteMemory({.device = 0, .at = {}, .sequence = 0, .allocations = 1 << 20});
  block(0x1000, 4096, 0);
  Launch(kernel_, 7, {.start = 10, .finish = 30});
  block(0x2000, 512, 5);
  Launch(kernel_, 7, {.start = 30, .finish = 40});
  block(0x2000, -512, 15, true);
  const std::vector<wire::OptimizerTensor> tensors = {
      {0x1000, 1000, wire::TensorRole::kParameter, 0},
      {0x1800, 1000, wire::TensorRole::kGradient, 0}};
  recorder_.NoteTensors(0, tensors, next_);
  Launch(kernel_, 7, {.start = 40, .finish = 50});

  const TraceReader trace = Rendered();

  using ::testing::ElementsAre;
  const std::uint64_t end = 100'000;
  EXPECT_THAT(trace.Counts("GPU 0 memory: parameters"),
              ElementsAre(Pair(0, 1000), Pair(end, 1000)));
  EXPECT_THAT(trace.Counts("GPU 0 memory: gradients"), ElementsAre(Pair(0, 1000), Pair(end, 1000)));
  EXPECT_THAT(trace.Counts("GPU 0 memory: optimizer state"), ElementsAre(Pair(0, 0), Pair(end, 0)));
  EXPECT_THAT(trace.Counts("GPU 0 memory: activations"),
              ElementsAre(Pair(0, 0), Pair(5000, 512), Pair(15000, 0), Pair(end, 0)));
  const std::int64_t other = (1 << 20) - 2000;
  EXPECT_THAT(
      trace.Counts("GPU 0 memory: other allocations"),
      ElementsAre(Pair(0, other), Pair(5000, other - 512), Pair(15000, other), Pair(end, other)));
  EXPECT_THAT(trace.Counts("GPU 0 memory: allocations"),
              ElementsAre(Pair(0, 1 << 20), Pair(end, 1 << 20)));
}

}  // namespace
}  // namespace eidolon::agent::timeline
