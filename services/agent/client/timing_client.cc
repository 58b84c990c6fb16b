// The service keeps nothing of a job, so a call can be repeated: Try repeats it while the service
// cannot be reached, and gives every other failure back at once. The main loop never waits for an
// estimate; a worker asks and posts the answer. A service that measures may ask for the code of
// modules first. It is sent, and the same question then goes out a second time with `modules_sent`,
// which the service must answer with what it has.
#include "services/agent/client/timing_client.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "eidolon/timing/v1/timing.grpc.pb.h"
#include "services/agent/client/reach.h"
#include "services/agent/client/rpc_worker.h"
#include "services/base/clock.h"
#include "services/base/hex.h"
#include "services/base/log.h"
#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/contract/ring/replay.h"
#include "services/contract/workload/work.h"
#include "services/runtime/grpc_status.h"
#include "services/runtime/token.h"

namespace eidolon::agent::client {

namespace ring = ::eidolon::ring;
namespace timing_v1 = timing::v1;

namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

}  // namespace

struct TimingClient::Link {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<timing_v1::TimingService::Stub> stub;
  base::SystemClock real_clock;
  std::string address;
  std::string gpu;
  double clock = 0;
  std::string token;
  std::string module_folder;
  std::chrono::milliseconds patience{0};
  Mailbox* mailbox = nullptr;
  std::mutex mutex;  // Guards the two below.
  grpc::ClientContext* running = nullptr;
  bool cancelled = false;
  RpcWorker worker;

  bool IsCancelled() {
    const std::lock_guard lock(mutex);
    return cancelled;
  }

  // Makes a call, again while the service cannot be reached and the patience lasts.
  template <typename Call>
  base::Result<void> Try(const std::function<bool()>& is_given_up, Call call) {
    const std::int64_t until_ns = real_clock.MonotonicNs() + patience.count() * kNsPerMs;
    const auto is_over = [&] { return IsCancelled() || (is_given_up && is_given_up()); };
    grpc::Status status;
    while (true) {
      const std::int64_t left_ms = (until_ns - real_clock.MonotonicNs()) / kNsPerMs;
      grpc::ClientContext context;
      if (!AwaitConnection(channel.get(), {.limit = std::chrono::milliseconds(left_ms),
                                           .is_cancelled = is_over})) {
        LimitToReason(&context);
      }
      runtime::AttachToken(token, &context);
      {
        const std::lock_guard lock(mutex);
        if (cancelled) return base::Fail(base::ErrorCode::kUnavailable, "the agent is ending");
        running = &context;
      }
      status = call(&context);
      {
        const std::lock_guard lock(mutex);
        running = nullptr;
      }
      if (status.ok()) return {};
      const bool is_lasting = status.error_code() != grpc::StatusCode::UNAVAILABLE;
      if (is_lasting || real_clock.MonotonicNs() >= until_ns || is_over()) break;
      std::this_thread::sleep_for(kRetry);
    }
    base::Error error = runtime::FromStatus(status);
    if (error.code == base::ErrorCode::kUnavailable) {
      error.message += base::StrCat(" (no answer within ", SecondsText(patience), ")");
    }
    return base::Wrap(base::StrCat("the timing service at ", address), std::move(error));
  }

  base::Result<void> Estimate(const timing_v1::EstimateRequest& request,
                              timing_v1::EstimateResponse* response) {
    return Try(nullptr, [&](grpc::ClientContext* context) {
      return stub->Estimate(context, request, response);
    });
  }

  // What cannot be read or sent is answered by the model: the service says so.
  void UploadModules(const timing_v1::EstimateResponse& response) {
    for (const std::string& hash : response.wanted_modules()) {
      timing_v1::UploadModuleRequest request;
      request.set_module_hash(hash);
      request.set_code(ReadModule(hash));
      if (request.code().empty()) continue;
      const auto sent = Try(nullptr, [&](grpc::ClientContext* context) {
        timing_v1::UploadModuleResponse ignored;
        return stub->UploadModule(context, request, &ignored);
      });
      if (!sent) {
        base::Log(base::Level::kWarning, "module_not_sent", {{"reason", sent.error().message}});
      }
    }
  }

  // Reads the module as services/contract/ring/replay.h describes it; empty when it is not there.
  std::string ReadModule(const std::string& hash) const {
    const std::string path = base::StrCat(module_folder, "/", base::Hex(hash), ".code");
    return base::ReadRegularFile(path).value_or("");
  }
};

TimingClient::TimingClient(const Options& options, Mailbox* mailbox)
    : link_(std::make_shared<Link>()) {
  link_->channel = OpenChannel(options.address);
  link_->stub = timing_v1::TimingService::NewStub(link_->channel);
  link_->address = options.address;
  link_->gpu = options.gpu;
  link_->clock = options.clock;
  link_->token = options.token;
  link_->module_folder = options.module_folder;
  link_->patience = options.patience;
  link_->mailbox = mailbox;
}

TimingClient::~TimingClient() {
  {
    const std::lock_guard lock(link_->mutex);
    link_->cancelled = true;
    if (link_->running != nullptr) link_->running->TryCancel();
  }
  link_->worker.Stop();
}

base::Result<timing_v1::Gpu> TimingClient::Describe(std::function<bool()> is_cancelled) {
  timing_v1::DescribeGpuRequest request;
  request.set_gpu(link_->gpu);
  timing_v1::DescribeGpuResponse response;
  const auto done = link_->Try(is_cancelled, [&](grpc::ClientContext* context) {
    return link_->stub->DescribeGpu(context, request, &response);
  });
  if (!done) return std::unexpected(done.error());
  measures_ = response.measures();
  if (response.code_wanted() == timing_v1::CODE_WANTED_ALL) code_wanted_ = ring::kKeepCode;
  if (response.code_wanted() == timing_v1::CODE_WANTED_OTHERS) code_wanted_ = ring::kKeepOthersCode;
  return std::move(*response.mutable_gpu());
}

void TimingClient::Ask(std::vector<cost::CostCache::Question> questions, Answer answer) {
  auto request = std::make_shared<timing_v1::EstimateRequest>();
  request->set_gpu(link_->gpu);
  request->set_clock(link_->clock);
  request->set_layout_version(workload::kLayoutVersion);
  for (cost::CostCache::Question& question : questions) {
    if (question.replay != nullptr) {
      question.replay->set_item(static_cast<std::uint32_t>(request->definitions_size()));
      request->add_replays()->Swap(question.replay.get());
    }
    request->add_definitions(std::move(question.definition));
  }
  // The worker's thread ends before the link does, so a plain pointer is enough.
  Link* link = link_.get();
  link->worker.Add([link, request, answer = std::move(answer)] {
    timing_v1::EstimateResponse response;
    auto done = link->Estimate(*request, &response);
    if (done && response.wanted_modules_size() > 0) {
      link->UploadModules(response);
      request->set_modules_sent(true);
      response.Clear();
      done = link->Estimate(*request, &response);
    }
    using Estimates = std::vector<common::v1::Estimate>;
    base::Result<Estimates> result;
    if (!done) {
      result = std::unexpected(done.error());
    } else if (response.estimates_size() != request->definitions_size()) {
      result = base::Fail(base::ErrorCode::kCorrupt,
                          base::StrCat("the timing service answered ", response.estimates_size(),
                                       " of ", request->definitions_size(), " definitions"));
    } else {
      result = Estimates(response.estimates().begin(), response.estimates().end());
    }
    link->mailbox->Post([answer, result = std::move(result)] { answer(result); });
  });
}

}  // namespace eidolon::agent::client
