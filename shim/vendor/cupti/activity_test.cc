#include "shim/vendor/cupti/activity.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "services/contract/ring/activity.h"
#include "services/contract/ring/record.h"
#include "services/contract/workload/work.h"
#include "shim/api/rows.h"
#include "shim/core/enter.h"
#include "shim/core/fake_agent.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/vendor/cupti/client_clock.h"
#include "shim/vendor/cupti/subscription.h"

namespace eidolon::shim::cupti::activity {
namespace {

constexpr auto kKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

TEST(ActivityTest, PopsWhatTheThreadPushed) {
  std::uint64_t id = 0;

  EXPECT_EQ(PushExternalCorrelationId(kKind, 4), CUPTI_SUCCESS);
  EXPECT_EQ(PushExternalCorrelationId(kKind, 5), CUPTI_SUCCESS);
  EXPECT_EQ(PopExternalCorrelationId(kKind, &id), CUPTI_SUCCESS);
  EXPECT_EQ(id, 5u);
  EXPECT_EQ(PopExternalCorrelationId(kKind, nullptr), CUPTI_SUCCESS);
  EXPECT_EQ(PopExternalCorrelationId(kKind, &id), CUPTI_ERROR_QUEUE_EMPTY);
}

TEST(ActivityTest, KeepsThreadsAndKindsApart) {
  ASSERT_EQ(PushExternalCorrelationId(kKind, 4), CUPTI_SUCCESS);
  CUptiResult of_other_thread = CUPTI_SUCCESS;

  std::thread([&] { of_other_thread = PopExternalCorrelationId(kKind, nullptr); }).join();

  EXPECT_EQ(of_other_thread, CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(PopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, nullptr),
            CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(PopExternalCorrelationId(kKind, nullptr), CUPTI_SUCCESS);
}

TEST(ActivityTest, RefusesUnknownKinds) {
  EXPECT_EQ(PushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(PushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_SIZE, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
}

TEST(ActivityTest, RefusesKindsThatAreNeverRecorded) {
  EXPECT_EQ(Enable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(Enable(CUPTI_ACTIVITY_KIND_INVALID), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(GetNextRecord(nullptr, 8, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

// A program with a profiler, and what its buffers hold after a flush.
class ActivityFlushTest : public ::testing::Test {
 protected:
  ActivityFlushTest() : agent_(core::FakeAgent::Start()) {
    agent_.Reset();
    core::Session::Get();
    RegisterCallbacks(GiveBuffer, TakeBuffer);
    records_.clear();
    gives_buffers_ = true;
  }
  ~ActivityFlushTest() override {
    Finalize();
    FlushAll(0);
    agent_.AnswerWith(core::FakeAgent::DefaultAnswer);
  }

  static void GiveBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records_max) {
    ++buffers_given_;
    *size = gives_buffers_ ? 1 << 16 : 0;
    *buffer = nullptr;
    if (gives_buffers_) {
      buffers_.push_back(std::make_unique<std::uint8_t[]>(*size));
      *buffer = buffers_.back().get();
    }
    *records_max = 0;
  }
  static void TakeBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                         std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (GetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) records_.push_back(record);
  }
  template <typename Record>
  static std::vector<const Record*> RecordsOf(CUpti_ActivityKind kind) {
    std::vector<const Record*> found;
    for (const CUpti_Activity* record : records_) {
      if (record->kind == kind) found.push_back(reinterpret_cast<const Record*>(record));
    }
    return found;
  }

  // Launches a kernel by a call of the runtime, or of a library.
  static std::uint64_t Launch(const char* function) {
    workload::Kernel kernel{};
    constexpr std::string_view kName = "_Z3addPf";
    kernel.header = {.kind = workload::WorkKind::kKernel, .bytes = sizeof(kernel) + 8};
    kernel.grid = {4, 2, 1};
    kernel.block = {128, 1, 1};
    kernel.registers = 40;
    kernel.name_bytes = kName.size();
    std::vector<std::byte> definition(sizeof(kernel) + kName.size());
    std::memcpy(definition.data(), &kernel, sizeof(kernel));
    std::memcpy(definition.data() + sizeof(kernel), kName.data(), kName.size());
    return core::Enter(function, ring::CallClass::kLaunch, std::uint64_t{0}, [&] {
      core::Session& session = *core::Session::Existing();
      ring::LaunchRecord record{};
      record.header.kind = ring::RecordKind::kLaunch;
      record.stream = 5;
      record.work = session.InternWork(definition);
      const std::uint64_t position = core::FakeAgent::Start().cursors().write_position.value.load();
      core::Append(session, record);
      return position;
    });
  }
  // The agent knows of these, once.
  void AnswerTake(std::vector<ring::CompletedOperation> operations) {
    agent_.AnswerWith([operations, asked = false](const core::FakeAgent::Record& record) mutable {
      core::FakeAgent::Reply reply;
      const bool takes = record.kind() == ring::RecordKind::kActivity &&
                         record.As<ring::WaitRecord>().id ==
                             static_cast<std::uint64_t>(ring::ActivityRequest::kTake);
      if (!takes) return core::FakeAgent::DefaultAnswer(record);
      if (std::exchange(asked, true)) return reply;
      const auto bytes = std::as_bytes(std::span(operations));
      reply.payload.assign(bytes.begin(), bytes.end());
      return reply;
    });
  }

  core::FakeAgent& agent_;
  static inline std::vector<CUpti_Activity*> records_;
  static inline bool gives_buffers_ = true;
  static inline std::vector<std::unique_ptr<std::uint8_t[]>> buffers_;  // Records point into them.
  static inline int buffers_given_ = 0;
};

TEST_F(ActivityFlushTest, JoinsAKernelWithItsCallAndItsTimes) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION), CUPTI_SUCCESS);
  ASSERT_EQ(PushExternalCorrelationId(kKind, 77), CUPTI_SUCCESS);
  const std::uint64_t position = Launch("cudaLaunchKernel");
  ASSERT_EQ(PopExternalCorrelationId(kKind, nullptr), CUPTI_SUCCESS);
  AnswerTake(
      {{.record = position, .index = 0, .node = 0, .start_ps = 5'000'000, .end_ps = 8'000'000}});

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  const auto kernels = RecordsOf<CUpti_ActivityKernel11>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const auto calls = RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  const auto external =
      RecordsOf<CUpti_ActivityExternalCorrelation>(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  ASSERT_EQ(kernels.size(), 1u);
  ASSERT_EQ(calls.size(), 1u);
  ASSERT_FALSE(external.empty());
  EXPECT_STREQ(kernels[0]->name, "_Z3addPf");
  EXPECT_EQ(kernels[0]->end - kernels[0]->start, 3000u);
  EXPECT_EQ(kernels[0]->gridX, 4);
  EXPECT_EQ(kernels[0]->blockX, 128);
  EXPECT_EQ(kernels[0]->registersPerThread, 40);
  EXPECT_EQ(kernels[0]->streamId, 12u);
  EXPECT_EQ(kernels[0]->correlationId, calls[0]->correlationId);
  EXPECT_EQ(calls[0]->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_LE(calls[0]->start, calls[0]->end);
  EXPECT_EQ(external[0]->externalId, 77u);
  EXPECT_EQ(external[0]->correlationId, calls[0]->correlationId);
}

// While the agent is asked, another thread launches a kernel, which ends at once.
TEST_F(ActivityFlushTest, NoOperationLacksTheCallThatIssuedItMeanwhile) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  std::size_t dropped = 0;
  ASSERT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  std::promise<void> asked;
  std::promise<std::uint64_t> launched;
  bool answered = false;
  agent_.AnswerWith([&](const core::FakeAgent::Record& record) {
    core::FakeAgent::Reply reply = core::FakeAgent::DefaultAnswer(record);
    const bool takes = record.kind() == ring::RecordKind::kActivity &&
                       record.As<ring::WaitRecord>().id ==
                           static_cast<std::uint64_t>(ring::ActivityRequest::kTake);
    if (!takes || std::exchange(answered, true)) return reply;
    asked.set_value();
    const ring::CompletedOperation operation{.record = launched.get_future().get(),
                                             .index = 0,
                                             .node = 0,
                                             .start_ps = 5'000'000,
                                             .end_ps = 8'000'000};
    const auto bytes = std::as_bytes(std::span(&operation, 1));
    reply.payload.assign(bytes.begin(), bytes.end());
    return reply;
  });
  Launch("cudaLaunchKernel");  // The definition is known from here on.
  std::thread other([&] {
    asked.get_future().wait();
    launched.set_value(Launch("cudaLaunchKernel"));
  });

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  other.join();
  agent_.AnswerWith(core::FakeAgent::DefaultAnswer);
  EXPECT_EQ(RecordsOf<CUpti_ActivityKernel11>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size(), 1u);
  EXPECT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 0u);
}

TEST_F(ActivityFlushTest, AGroupIsForgottenOnceAllOfItHasEnded) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), CUPTI_SUCCESS);
  std::size_t dropped = 0;
  ASSERT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  const std::uint64_t position =
      core::Enter("ncclGroupEnd", ring::CallClass::kLaunch, std::uint64_t{0}, [] {
        std::vector<ring::CommunicationOp> ops(2);
        for (ring::CommunicationOp& op : ops) op.kind = ring::CommunicationKind::kAllReduce;
        ring::CommunicationRecord record{};
        record.header.kind = ring::RecordKind::kCommunication;
        record.op_count = 2;
        const std::uint64_t at = core::FakeAgent::Start().cursors().write_position.value.load();
        const std::span<const std::byte> tail = std::as_bytes(std::span(ops));
        core::Session::Existing()->Append(&record.header, sizeof(record), {&tail, 1});
        return at;
      });
  const auto flush = [&](std::uint32_t index) {
    AnswerTake({{.record = position,
                 .index = index,
                 .node = 0,
                 .start_ps = 5'000'000,
                 .end_ps = 8'000'000}});
    EXPECT_EQ(FlushAll(0), CUPTI_SUCCESS);
    EXPECT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  };
  flush(0);
  EXPECT_EQ(dropped, 0u);
  flush(1);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(RecordsOf<CUpti_ActivityKernel11>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL).size(), 2u);

  flush(1);

  EXPECT_EQ(dropped, 1u) << "nobody issued a third one";
}

TEST_F(ActivityFlushTest, AsksForABufferBeforeThereIsARecord) {
  // Kineto flushes only when it has given one.
  const int before = buffers_given_;
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);

  EXPECT_EQ(buffers_given_, before + 1);
}

TEST_F(ActivityFlushTest, ShowsALibrarysLaunchesAsCallsOfTheRuntime) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  Launch("cublasGemmEx");

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  const auto calls = RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0]->cbid, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060);
}

TEST_F(ActivityFlushTest, WaitsAreRecordsOfTheirOwn) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
  core::Enter("cudaStreamSynchronize", ring::CallClass::kSynchronize, 0, [] {
    ring::WaitRecord question{};
    question.header.kind = ring::RecordKind::kSynchronizeStream;
    question.id = 5;
    core::Ask(*core::Session::Existing(), question, true);
    return 0;
  });

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  const auto waits = RecordsOf<CUpti_ActivitySynchronization2>(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0]->type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
  EXPECT_EQ(waits[0]->streamId, 12u);
}

TEST_F(ActivityFlushTest, AnEventsRecordComesBeforeWhatWaitsForItAndBehindWhatWaitedBefore) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION), CUPTI_SUCCESS);
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_CUDA_EVENT), CUPTI_SUCCESS);
  const auto issue = [](const char* function, ring::RecordKind kind) {
    core::Enter(function, ring::CallClass::kStream, 0, [&] {
      ring::EventRecord record{};
      record.header.kind = kind;
      record.event = 9;
      core::Session::Existing()->Append(&record.header, sizeof(record), {});
      return 0;
    });
  };
  for (int i = 0; i < 2; ++i) {
    issue("cudaEventRecord", ring::RecordKind::kEventRecord);
    issue("cudaStreamWaitEvent", ring::RecordKind::kStreamWaitEvent);
  }

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  std::vector<CUpti_ActivityKind> kinds;
  for (const CUpti_Activity* record : records_) kinds.push_back(record->kind);
  const std::vector<CUpti_ActivityKind> expected = {
      CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
      CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
  EXPECT_EQ(kinds, expected);
}

TEST_F(ActivityFlushTest, LeavesOutCallsThatTheProgramDoesNotWant) {
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  constexpr auto kCall = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  ASSERT_EQ(EnableRuntimeApi(kCall, 0), CUPTI_SUCCESS);
  Launch("cudaLaunchKernel");
  ASSERT_EQ(EnableRuntimeApi(kCall, 1), CUPTI_SUCCESS);
  Launch("cudaLaunchKernel");
  Finalize();
  Launch("cudaLaunchKernel");

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  EXPECT_EQ(RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size(), 1u);
}

TEST_F(ActivityFlushTest, CountsRecordsForWhichThereIsNoBuffer) {
  std::size_t dropped = 0;
  gives_buffers_ = false;
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  ASSERT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  Launch("cudaLaunchKernel");

  ASSERT_EQ(FlushAll(0), CUPTI_SUCCESS);

  EXPECT_TRUE(records_.empty());
  EXPECT_EQ(GetNumDroppedRecords(nullptr, 0, &dropped), CUPTI_SUCCESS);
  EXPECT_EQ(dropped, 1u);
}

std::uint64_t HalfTime() { return WallNs(static_cast<std::uint64_t>(core::Now().ps)) / 2; }

TEST_F(ActivityFlushTest, GivesTimesInTheProgramsClock) {
  ASSERT_EQ(RegisterTimestampCallback(HalfTime), CUPTI_SUCCESS);
  std::uint64_t now = 0;
  EXPECT_EQ(GetTimestamp(&now), CUPTI_SUCCESS);
  EXPECT_LT(now, HalfTime() + 1'000'000'000);
  EXPECT_EQ(RegisterTimestampCallback(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

// Notifications of a subscriber, in order.
struct Told {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  CUpti_ApiCallbackSite site;
  std::uint32_t correlation;
  std::string function;
  std::string symbol;
  int result;
};
std::vector<Told> told;

void Tell(void* user_data, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* given) {
  const auto& data = *static_cast<const CUpti_CallbackData*>(given);
  if (data.callbackSite == CUPTI_API_ENTER) {
    *data.correlationData = 77;
    PushExternalCorrelationId(kKind, 1);  // Calls of CUPTI are allowed.
    PopExternalCorrelationId(kKind, nullptr);
  } else {
    EXPECT_EQ(*data.correlationData, 77u);
  }
  told.push_back(
      {domain, id, data.callbackSite, data.correlationId, data.functionName,
       data.symbolName == nullptr ? "" : data.symbolName,
       data.functionReturnValue == nullptr ? -1 : *static_cast<int*>(data.functionReturnValue)});
  EXPECT_EQ(user_data, &told);
}

class CallbackTest : public ActivityFlushTest {
 protected:
  CallbackTest() {
    told.clear();
    EXPECT_EQ(subscription::Subscribe(&subscriber_, Tell, &told), CUPTI_SUCCESS);
  }
  ~CallbackTest() override { subscription::Unsubscribe(subscriber_); }

  CUpti_SubscriberHandle subscriber_ = nullptr;
};

TEST_F(CallbackTest, TellsOfTheDriverCallBehindALaunchOfTheRuntimeWithItsCorrelation) {
  ASSERT_EQ(subscription::EnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API), CUPTI_SUCCESS);
  ASSERT_EQ(subscription::EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                         CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
            CUPTI_SUCCESS);
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);

  Launch("cudaLaunchKernel");
  FlushAll(0);

  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].function, "cudaLaunchKernel");
  EXPECT_EQ(told[0].site, CUPTI_API_ENTER);
  EXPECT_EQ(told[1].function, "cuLaunchKernel");
  EXPECT_EQ(told[1].domain, CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(told[2].function, "cuLaunchKernel");
  EXPECT_EQ(told[2].site, CUPTI_API_EXIT);
  EXPECT_EQ(told[3].function, "cudaLaunchKernel");
  EXPECT_EQ(told[3].id,
            static_cast<CUpti_CallbackId>(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
  const auto calls = RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME);
  ASSERT_EQ(calls.size(), 1u);
  for (const Told& one : told) EXPECT_EQ(one.correlation, calls[0]->correlationId);
}

TEST_F(CallbackTest, TellsWhatALibraryLaunchesByItsName) {
  subscription::EnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API);

  Launch("cublasSgemm_v2");

  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].function, "cuLaunchKernelEx");
  EXPECT_EQ(told[0].symbol, "_Z3addPf");
}

TEST_F(CallbackTest, TellsWhatTheCallReturned) {
  subscription::EnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API);

  core::Enter("cudaStreamQuery", ring::CallClass::kQuery, 1, [] { return 600; });

  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].result, 600);
}

TEST_F(CallbackTest, IsSilentOnceTheSubscriberHasGone) {
  std::uint32_t enabled = 0;
  subscription::EnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API);
  const auto id = static_cast<CUpti_CallbackId>(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  ASSERT_EQ(subscription::GetCallbackState(&enabled, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API, id),
            CUPTI_SUCCESS);
  EXPECT_EQ(enabled, 1u);

  subscription::Unsubscribe(subscriber_);
  Launch("cudaLaunchKernel");

  EXPECT_TRUE(told.empty());
}

TEST(ArgumentWriterTest, LaysValuesOutAsAStructure) {
  struct Given {
    char first;
    double second;
    std::uint16_t third;
    const void* fourth;
  };
  alignas(Given) std::byte bytes[sizeof(Given)] = {};

  api::ArgumentWriter{bytes}(char{'a'}, 2.5, std::uint16_t{7}, static_cast<const void*>(bytes));

  Given given{};
  std::memcpy(&given, bytes, sizeof(given));
  EXPECT_EQ(given.first, 'a');
  EXPECT_EQ(given.second, 2.5);
  EXPECT_EQ(given.third, 7);
  EXPECT_EQ(given.fourth, bytes);
}

TEST_F(ActivityFlushTest, GivesRecordsToTheBuffersThatWereNamedAfterTheyWereEnabled) {
  RegisterCallbacks(
      [](std::uint8_t** buffer, std::size_t* size, std::size_t*) { *buffer = nullptr, *size = 0; },
      TakeBuffer);
  ASSERT_EQ(Enable(CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
  RegisterCallbacks(GiveBuffer, TakeBuffer);

  Launch("cudaLaunchKernel");
  FlushAll(0);

  EXPECT_EQ(RecordsOf<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).size(), 1u);
}

}  // namespace
}  // namespace eidolon::shim::cupti::activity
