// The stream has one reader and one writer: a thread of its own blocks in Read, and the main loop
// writes. The thread touches nothing of the agent, it posts tasks. The call is cancelled before the
// thread is joined, because Read returns only then. A failed write is ignored: the reader sees the
// end of the stream and reports it once, with the service's reason.
#include "services/agent/client/controller_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "eidolon/controller/v1/controller.grpc.pb.h"
#include "services/agent/client/reach.h"
#include "services/base/text.h"
#include "services/runtime/grpc_status.h"

namespace eidolon::agent::client {

namespace controller_v1 = controller::v1;

struct ControllerClient::Link {
  Options options;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<controller_v1::ControllerService::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<
      grpc::ClientReaderWriter<controller_v1::AgentReport, controller_v1::ControllerCommand>>
      stream;
  Handlers handlers;
  Mailbox* mailbox = nullptr;
  std::mutex mutex;  // Guards ended.
  std::condition_variable end;
  bool ended = false;
  std::thread reader;

  base::Error Ending() {
    const grpc::Status status = stream->Finish();
    base::Error error{base::ErrorCode::kUnavailable, "it ended the stream"};
    if (!status.ok()) error = runtime::FromStatus(status);
    error.message = base::StrCat("the controller at ", options.address, ": ", error.message);
    return error;
  }

  void Read() {
    controller_v1::ControllerCommand command;
    while (stream->Read(&command)) {
      if (!command.has_stop()) continue;
      const std::string reason = command.stop().reason();
      mailbox->Post([this, reason] { handlers.on_stop(reason); });
    }
    const base::Error error = Ending();
    {
      const std::lock_guard lock(mutex);
      ended = true;
    }
    end.notify_all();
    mailbox->Post([this, error] { handlers.on_end(error); });
  }
};

ControllerClient::ControllerClient(Options options) : link_(new Link) {
  link_->options = std::move(options);
  link_->channel = OpenChannel(link_->options.address);
  link_->stub = controller_v1::ControllerService::NewStub(link_->channel);
}

ControllerClient::~ControllerClient() {
  link_->context.TryCancel();
  if (link_->reader.joinable()) link_->reader.join();
}

base::Result<controller_v1::Assignment> ControllerClient::Introduce() {
  // A pod's network may be a moment behind its first process. Without a connection the session says
  // what is wrong.
  AwaitConnection(link_->channel.get(),
                  {.limit = link_->options.patience, .is_cancelled = nullptr});
  link_->stream = link_->stub->AgentSession(&link_->context);
  controller_v1::AgentReport hello;
  hello.mutable_hello()->set_token(link_->options.token);
  link_->stream->Write(hello);
  controller_v1::ControllerCommand command;
  if (!link_->stream->Read(&command)) return std::unexpected(link_->Ending());
  if (!command.has_assignment()) {
    return base::Fail(
        base::ErrorCode::kFailedPrecondition,
        base::StrCat("the controller at ", link_->options.address, " gave no assignment"));
  }
  return std::move(*command.mutable_assignment());
}

void ControllerClient::Listen(Handlers handlers, Mailbox* mailbox) {
  link_->handlers = std::move(handlers);
  link_->mailbox = mailbox;
  link_->reader = std::thread([link = link_.get()] { link->Read(); });
}

void ControllerClient::Send(const controller_v1::AgentReport& report) {
  // A broken stream is told by the reader.
  link_->stream->Write(report);
}

void ControllerClient::Finish(int limit_ms) {
  link_->stream->WritesDone();
  std::unique_lock lock(link_->mutex);
  link_->end.wait_for(lock, std::chrono::milliseconds(limit_ms), [&] { return link_->ended; });
}

}  // namespace eidolon::agent::client
