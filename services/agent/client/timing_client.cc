#include "services/agent/client/timing_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "eidolon/timing/v1/timing.grpc.pb.h"
#include "services/agent/client/rpc_worker.h"
#include "services/base/hex.h"
#include "services/base/log.h"
#include "services/base/regular_file.h"
#include "services/base/text.h"
#include "services/ring/replay.h"
#include "services/runtime/grpc_status.h"
#include "services/runtime/token.h"

namespace eidolon::agent::client {

namespace ring = ::eidolon::ring;
namespace timing_v1 = timing::v1;

namespace {

constexpr auto kPause = std::chrono::milliseconds(300);
// A refused connection is tried again soon: a service that starts again is on this machine or near.
constexpr int kTimingReconnectMs = 200;

}  // namespace

struct TimingClient::Link {
  std::unique_ptr<timing_v1::TimingService::Stub> stub;
  std::string address;
  std::string gpu;
  double clock = 0;
  std::string token;
  std::string module_folder;
  int attempts = 1;
  Mailbox* mailbox = nullptr;
  std::mutex mutex;  // Guards the two below.
  grpc::ClientContext* running = nullptr;
  bool cancelled = false;
  RpcWorker worker;

  // Makes a call, again when the service cannot be reached.
  template <typename Call>
  base::Result<void> Try(Call call) {
    grpc::Status status;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kPause);
      grpc::ClientContext context;
      runtime::AttachToken(token, &context);
      {
        const std::lock_guard lock(mutex);
        if (cancelled) return base::Fail(base::ErrorCode::kUnavailable, "the agent is ending");
        running = &context;
      }
      status = call(&context);
      const std::lock_guard lock(mutex);
      running = nullptr;
      if (status.ok()) return {};
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) break;
    }
    return base::Wrap(base::StrCat("the timing service at ", address), runtime::FromStatus(status));
  }

  base::Result<void> Estimate(const timing_v1::EstimateRequest& request,
                              timing_v1::EstimateResponse* response) {
    return Try(
        [&](grpc::ClientContext* context) { return stub->Estimate(context, request, response); });
  }

  // What cannot be read or sent is answered by the model: the service says so.
  void UploadModules(const timing_v1::EstimateResponse& response) {
    for (const std::string& hash : response.wanted_modules()) {
      timing_v1::UploadModuleRequest request;
      request.set_module_hash(hash);
      request.set_code(ReadModule(hash));
      if (request.code().empty()) continue;
      const auto sent = Try([&](grpc::ClientContext* context) {
        timing_v1::UploadModuleResponse ignored;
        return stub->UploadModule(context, request, &ignored);
      });
      if (!sent) {
        base::Log(base::Level::kWarning, "module_not_sent", {{"reason", sent.error().message}});
      }
    }
  }

  // As services/ring/replay.h describes it; empty when it is not there.
  std::string ReadModule(const std::string& hash) const {
    const std::string path = base::StrCat(module_folder, "/", base::Hex(hash), ".code");
    return base::ReadRegularFile(path).value_or("");
  }
};

TimingClient::TimingClient(const Options& options, Mailbox* mailbox)
    : link_(std::make_shared<Link>()) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kTimingReconnectMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kTimingReconnectMs);
  link_->stub = timing_v1::TimingService::NewStub(
      grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments));
  link_->address = options.address;
  link_->gpu = options.gpu;
  link_->clock = options.clock;
  link_->token = options.token;
  link_->module_folder = options.module_folder;
  link_->attempts = std::max<int>(1, options.patience / kPause);
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

base::Result<timing_v1::Gpu> TimingClient::Describe() {
  timing_v1::DescribeGpuRequest request;
  request.set_gpu(link_->gpu);
  timing_v1::DescribeGpuResponse response;
  const auto done = link_->Try([&](grpc::ClientContext* context) {
    return link_->stub->DescribeGpu(context, request, &response);
  });
  if (!done) return std::unexpected(done.error());
  measures_ = response.measures();
  if (response.code_wanted() == timing_v1::CODE_WANTED_ALL) code_wanted_ = ring::kKeepCode;
  if (response.code_wanted() == timing_v1::CODE_WANTED_OTHERS) code_wanted_ = ring::kKeepOthersCode;
  return std::move(*response.mutable_gpu());
}

void TimingClient::Ask(std::vector<cost::CostBook::Question> questions, Answer answer) {
  auto request = std::make_shared<timing_v1::EstimateRequest>();
  request->set_gpu(link_->gpu);
  request->set_clock(link_->clock);
  for (cost::CostBook::Question& question : questions) {
    if (question.replay != nullptr) {
      question.replay->set_item(static_cast<std::uint32_t>(request->items_size()));
      request->add_replays()->Swap(question.replay.get());
    }
    request->add_items()->Swap(question.item.get());
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
    } else if (response.estimates_size() != request->items_size()) {
      result = base::Fail(base::ErrorCode::kCorrupt,
                          base::StrCat("the timing service answered ", response.estimates_size(),
                                       " of ", request->items_size(), " items"));
    } else {
      result = Estimates(response.estimates().begin(), response.estimates().end());
    }
    link->mailbox->Post([answer, result = std::move(result)] { answer(result); });
  });
}

}  // namespace eidolon::agent::client
