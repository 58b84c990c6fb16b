// httplib parses and routes a request by calling a Stream, which is a socket in its own server and
// here a request that is in memory already. The library's worker therefore never waits for a
// client; its answer goes into an outbox. svr_sock_ is the library's sign that it still serves, and
// streaming handlers stop once it is INVALID_SOCKET. Workers are split three ways: large bodies
// have few threads, which bounds the memory of parsed documents, reserved paths have a thread each,
// and the rest share the others, which serve clients in turn.
#include "services/controller/http/server.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace eidolon::controller::http {
namespace {

// Value that httplib compares with INVALID_SOCKET to see whether it is being stopped; never used as
// one.
constexpr socket_t kServing = 0;
// Size from which a body's document may take much memory.
constexpr std::size_t kLargeBodyBytes = 64u << 10;
// Size from which the making of an answer took many times as much.
constexpr std::size_t kLargeAnswerBytes = 128u << 10;

// A complete request as the library reads it, and its way to the outbox.
class RequestStream final : public httplib::Stream {
 public:
  RequestStream(const Request& request, const Peer& peer, Outbox* outbox)
      : request_(request), peer_(peer), outbox_(*outbox) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return outbox_.open(); }

  ssize_t read(char* to, std::size_t size) override {
    const std::size_t head = request_.head.size();
    const bool in_head = at_ < head;
    const std::string& from = in_head ? request_.head : request_.body;
    const std::size_t begin = in_head ? at_ : at_ - head;
    const std::size_t count = std::min(size, from.size() - begin);
    std::memcpy(to, from.data() + begin, count);
    at_ += count;
    return static_cast<ssize_t>(count);
  }

  ssize_t write(const char* bytes, std::size_t size) override {
    const std::string_view text(bytes, size);
    if (!std::exchange(begun_, true)) {
      // The library writes the head at once.
      goes_on_ = text.substr(0, text.find("\r\n\r\n")).find("\r\nTransfer-Encoding: chunked") !=
                 std::string_view::npos;
    }
    written_ += size;
    return outbox_.Write(text, goes_on_) ? static_cast<ssize_t>(size) : -1;
  }
  std::size_t written() const { return written_; }

  void get_remote_ip_and_port(std::string& address, int& port) const override {
    address = peer_.address;
    port = peer_.port;
  }
  void get_local_ip_and_port(std::string&, int&) const override {}
  // Compared with FD_SETSIZE, not used.
  socket_t socket() const override { return -1; }

 private:
  const Request& request_;
  const Peer& peer_;
  Outbox& outbox_;
  std::size_t at_ = 0;
  bool begun_ = false;
  bool goes_on_ = false;
  std::size_t written_ = 0;
};

// Gives what large documents and large answers (lists of many jobs) took back to the system when
// the last large document that is being handled is done: the allocator would keep it.
class LargeWork {
 public:
  LargeWork(const Request& request, std::atomic<int>* handled)
      : handled_(*handled), has_large_body_(request.body.size() >= kLargeBodyBytes) {
    if (has_large_body_) ++handled_;
  }
  ~LargeWork() {
    const int left = has_large_body_ ? --handled_ : handled_.load();
    if (left == 0 && (has_large_body_ || answered_ >= kLargeAnswerBytes)) malloc_trim(0);
  }
  LargeWork(const LargeWork&) = delete;
  LargeWork& operator=(const LargeWork&) = delete;

  void NoteAnswer(std::size_t bytes) { answered_ = bytes; }

 private:
  std::atomic<int>& handled_;
  const bool has_large_body_;
  std::size_t answered_ = 0;
};

}  // namespace

Server::Server() { svr_sock_ = kServing; }

base::Result<void> Server::Serve(std::vector<Descriptor> listeners, const ServerOptions& options,
                                 ServerEvents events, const base::RealClock& clock) {
  unlimited_ = options.unlimited;
  for (const std::string& path : options.reserved) {
    reserved_[path] = std::make_unique<Workers>(1);
  }
  workers_ = std::make_unique<Workers>(options.workers);
  large_body_workers_ = std::make_unique<Workers>(options.large_body_workers);
  connections_ = std::make_unique<Connections>(
      options.limits,
      ConnectionEvents{
          .on_request =
              [this](Request request, const Peer& peer, const std::shared_ptr<Outbox>& outbox) {
                Dispatch(std::move(request), peer, outbox);
              },
          .to_answer = std::move(events.to_answer),
          .is_unlimited = [this](const std::string& path) { return path == unlimited_; },
          .find_user = std::move(events.find_user),
          .on_refusal = std::move(events.on_refusal),
          .on_count = std::move(events.on_count)},
      clock);
  return connections_->Start(std::move(listeners));
}

void Server::Shutdown() {
  svr_sock_ = INVALID_SOCKET;
  if (connections_ != nullptr) connections_->Stop();
  if (workers_ != nullptr) workers_->Stop();
  if (large_body_workers_ != nullptr) large_body_workers_->Stop();
  for (auto& [path, workers] : reserved_) workers->Stop();
}

void Server::Dispatch(Request request, const Peer& peer, const std::shared_ptr<Outbox>& outbox) {
  auto shared = std::make_shared<Request>(std::move(request));
  WorkersFor(*shared).Add(ClientOf(peer),
                          [this, shared = std::move(shared), peer, outbox]() mutable {
                            LargeWork large(*shared, &large_bodies_);
                            large.NoteAnswer(Answer(*shared, peer, outbox));
                            shared.reset();
                          });
}

Workers& Server::WorkersFor(const Request& request) {
  const auto found = reserved_.find(request.path);
  if (found != reserved_.end()) return *found->second;
  return request.body.size() >= kLargeBodyBytes ? *large_body_workers_ : *workers_;
}

std::size_t Server::Answer(const Request& request, const Peer& peer,
                           const std::shared_ptr<Outbox>& outbox) {
  if (outbox->gone()) return 0;
  RequestStream stream(request, peer, outbox.get());
  bool close = false;
  const bool done = process_request(stream, /*close_connection=*/false, close, nullptr);
  outbox->Finish(done && !close && svr_sock_ != INVALID_SOCKET);
  return stream.written();
}

}  // namespace eidolon::controller::http
