// Messages go out in the order in which the main loop made them, as one batch a round, because the
// service pays for messages more than for what they hold. Questions about estimates block, so a
// worker makes them one by one. Its context lies on the worker's stack: the mutex guards the
// pointer by which the destructor cancels a call, and `cancelled` keeps a next one from starting.
#include "services/agent/client/network_client.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "eidolon/network/v1/network.grpc.pb.h"
#include "services/agent/client/rpc_worker.h"
#include "services/base/text.h"
#include "services/runtime/grpc_status.h"
#include "services/runtime/token.h"

namespace eidolon::agent::client {

namespace network_v1 = network::v1;

namespace {

// Values travel in messages: more at once would hold much memory, and others up.
constexpr int kBatchMax = 1024;
constexpr std::int64_t kLoadsWithinSeconds = 10;
constexpr std::size_t kLinkNamesMax = 10'000;  // That one answer has.

}  // namespace

struct NetworkClient::Link {
  Options options;
  Mailbox* mailbox = nullptr;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<network_v1::NetworkService::Stub> stub;
  grpc::ClientContext session_context;
  std::unique_ptr<grpc::ClientReaderWriter<network_v1::SessionRequest, network_v1::SessionResponse>>
      session;
  network_v1::SessionRequest waiting;  // A batch.
  std::mutex mutex;                    // Guards the two below.
  grpc::ClientContext* estimating = nullptr;
  bool cancelled = false;
  RpcWorker worker;
  std::thread reader;

  void Read() {
    while (true) {
      auto message = std::make_shared<network_v1::SessionResponse>();
      if (!session->Read(message.get())) break;
      mailbox->Post([this, message] {
        if (!message->has_batch()) return options.on_message(*message);
        for (const auto& part : message->batch().responses()) options.on_message(part);
      });
    }
    mailbox->Post([this, error = Ending()] { options.on_end(error); });
  }

  base::Error Ending() {
    const grpc::Status status = session->Finish();
    base::Error error{base::ErrorCode::kUnavailable, "it ended the session"};
    if (!status.ok()) error = runtime::FromStatus(status);
    error.message = base::StrCat("the network service at ", options.address, ": ", error.message);
    return error;
  }

  // Prepares a call at the end of a job.
  void Prepare(grpc::ClientContext* context) const {
    context->set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_REALTIME),
                                       gpr_time_from_seconds(kLoadsWithinSeconds, GPR_TIMESPAN)));
    runtime::AttachToken(options.token, context);
  }
  std::unexpected<base::Error> Refused(const grpc::Status& status) const {
    return base::Wrap(base::StrCat("the network service at ", options.address),
                      runtime::FromStatus(status));
  }

  base::Result<network_v1::EstimateCollectiveResponse> CallEstimate(
      const network_v1::EstimateCollectiveRequest& request) {
    grpc::ClientContext context;
    {
      const std::lock_guard lock(mutex);
      if (cancelled) return base::Fail(base::ErrorCode::kUnavailable, "the agent is ending");
      estimating = &context;
    }
    runtime::AttachToken(options.token, &context);
    network_v1::EstimateCollectiveResponse response;
    const grpc::Status status = stub->EstimateCollective(&context, request, &response);
    const std::lock_guard lock(mutex);
    estimating = nullptr;
    if (status.ok()) return response;
    return Refused(status);
  }
};

NetworkClient::NetworkClient(Options options, Mailbox* mailbox) : link_(new Link) {
  Link& link = *link_;
  link.options = std::move(options);
  link.mailbox = mailbox;
  link.channel = OpenChannel(link.options.address);
  link.stub = network_v1::NetworkService::NewStub(link.channel);
}

base::Result<void> NetworkClient::Open(const Patience& patience) {
  Link& link = *link_;
  const bool is_connected = AwaitConnection(link.channel.get(), patience);
  runtime::AttachToken(link.options.token, &link.session_context);
  if (!is_connected) LimitToReason(&link.session_context);
  link.session = link.stub->Session(&link.session_context);
  if (!is_connected) {
    base::Error error = link.Ending();
    error.message += base::StrCat(" (no connection within ", SecondsText(patience.limit), ")");
    return std::unexpected(std::move(error));
  }
  network_v1::SessionRequest hello;
  hello.mutable_hello()->set_job(link.options.job);
  hello.mutable_hello()->set_server(link.options.server);
  hello.mutable_hello()->set_keep_link_loads(link.options.keep_link_loads);
  link.session->Write(hello);
  link.reader = std::thread([&link] { link.Read(); });
  return {};
}

NetworkClient::~NetworkClient() {
  {
    const std::lock_guard lock(link_->mutex);
    link_->cancelled = true;
    if (link_->estimating != nullptr) link_->estimating->TryCancel();
  }
  link_->session_context.TryCancel();
  link_->worker.Stop();
  if (link_->reader.joinable()) link_->reader.join();
}

void NetworkClient::Send(network_v1::SessionRequest request) {
  *link_->waiting.mutable_batch()->add_requests() = std::move(request);
  if (link_->waiting.batch().requests_size() >= kBatchMax) Flush();
}

void NetworkClient::Flush() {
  const int count = link_->waiting.batch().requests_size();
  if (count == 0 || link_->session == nullptr) return;
  // A broken stream is told by the reader; what is written after it has nobody to read it.
  link_->session->Write(count == 1 ? link_->waiting.batch().requests(0) : link_->waiting);
  link_->waiting.mutable_batch()->clear_requests();
}

base::Result<network_v1::ReadLinkLoadsResponse> NetworkClient::ReadLinkLoads(std::uint64_t from_ps,
                                                                             std::uint64_t to_ps) {
  network_v1::ReadLinkLoadsRequest request;
  request.set_job(link_->options.job);
  request.set_server(link_->options.server);
  request.set_from_picoseconds(from_ps);
  request.set_to_picoseconds(to_ps);
  grpc::ClientContext context;
  link_->Prepare(&context);
  network_v1::ReadLinkLoadsResponse response;
  const grpc::Status status = link_->stub->ReadLinkLoads(&context, request, &response);
  if (status.ok()) return response;
  return link_->Refused(status);
}

base::Result<std::vector<std::string>> NetworkClient::ReadLinkNames(
    const std::vector<std::uint32_t>& links) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < links.size(); begin += kLinkNamesMax) {
    network_v1::ReadLinkNamesRequest request;
    request.set_job(link_->options.job);
    const std::size_t end = std::min(links.size(), begin + kLinkNamesMax);
    for (std::size_t at = begin; at < end; ++at) request.add_links(links[at]);
    grpc::ClientContext context;
    link_->Prepare(&context);
    network_v1::ReadLinkNamesResponse response;
    const grpc::Status status = link_->stub->ReadLinkNames(&context, request, &response);
    if (!status.ok()) return link_->Refused(status);
    names.insert(names.end(), response.names().begin(), response.names().end());
    names.resize(end);
  }
  return names;
}

void NetworkClient::Estimate(std::uint64_t communicator, const network_v1::Operation& operation,
                             Answer answer) {
  auto request = std::make_shared<network_v1::EstimateCollectiveRequest>();
  request->set_job(link_->options.job);
  request->set_communicator(communicator);
  *request->mutable_operation() = operation;
  Link* link = link_.get();
  link->worker.Add([link, request, answer = std::move(answer)] {
    auto result = link->CallEstimate(*request);
    link->mailbox->Post([answer, result = std::move(result)] { answer(result); });
  });
}

}  // namespace eidolon::agent::client
