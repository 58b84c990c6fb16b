// A process hangs up without a word when it is killed, so its connection is the sign of life: it
// speaks once and stays open until the process is gone. The thread only turns socket events into
// tasks. A connection is taken out of epoll before its hang-up is posted, and closed by the main
// loop after that; otherwise its number could stand for a new connection while old tasks still name
// it.
#include "services/agent/server/process_listener.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "services/agent/ring/listener.h"
#include "services/base/check.h"
#include "services/base/log.h"

namespace eidolon::agent::server {

namespace {

void Add(int poller, int descriptor) {
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = descriptor}};
  CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

}  // namespace

base::Result<std::unique_ptr<ProcessListener>> ProcessListener::Start(
    const std::string& run_directory, Handlers handlers, client::Mailbox* mailbox) {
  auto listener = ring::Listen(run_directory);
  if (!listener) return std::unexpected(listener.error());
  std::unique_ptr<ProcessListener> made(new ProcessListener);
  made->handlers_ = std::move(handlers);
  made->mailbox_ = mailbox;
  made->listener_ = *listener;
  made->poller_ = epoll_create1(EPOLL_CLOEXEC);
  made->stop_ = eventfd(0, EFD_CLOEXEC);
  CHECK(made->poller_ >= 0 && made->stop_ >= 0);
  Add(made->poller_, made->listener_);
  Add(made->poller_, made->stop_);
  made->thread_ = std::thread([k = made.get()] { k->Watch(); });
  return made;
}

ProcessListener::~ProcessListener() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    CHECK(write(stop_, &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }
  // Those whose hang-up was not told are still ours to close.
  for (const auto& [connection, introduced] : introduced_) close(connection);
  for (const int descriptor : {listener_, poller_, stop_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void ProcessListener::CloseConnection(int connection) { close(connection); }

void ProcessListener::Watch() {
  while (true) {
    epoll_event events[16];
    const int count = epoll_wait(poller_, events, 16, -1);
    if (count < 0 && errno == EINTR) continue;
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[i].data.fd;
      if (descriptor == stop_) return;
      if (descriptor == listener_) {
        TakeNew();
      } else {
        Hear(descriptor);
      }
    }
  }
}

void ProcessListener::TakeNew() {
  const auto connection = ring::Accept(listener_);
  if (!connection) {
    base::Log(base::Level::kWarning, "accept_failed", {{"reason", connection.error().message}});
    return;
  }
  introduced_[*connection] = false;
  Add(poller_, *connection);
}

// A connection speaks once and then only hangs up.
void ProcessListener::Hear(int connection) {
  bool& introduced = introduced_.at(connection);
  if (!introduced) {
    if (const auto virtual_sleep = ring::TakeVirtualSleep(connection)) {
      introduced = true;
      mailbox_->Post([this, connection, virtual_sleep = *virtual_sleep] {
        handlers_.on_virtual_sleep(connection, virtual_sleep);
      });
      return;
    }
    const auto hello = ring::ReadHello(connection);
    if (hello.has_value()) {
      introduced = true;
      mailbox_->Post([this, connection, hello = *hello] { handlers_.on_hello(connection, hello); });
      return;
    }
    if (hello.error().code != base::ErrorCode::kUnavailable) {
      ring::SendRefusal(connection, hello.error().message);
    }
    base::Log(base::Level::kWarning, "process_refused", {{"reason", hello.error().message}});
    introduced_.erase(connection);
    close(connection);
    return;
  }
  epoll_ctl(poller_, EPOLL_CTL_DEL, connection, nullptr);
  introduced_.erase(connection);
  mailbox_->Post([this, connection] { handlers_.on_hang_up(connection); });
}

}  // namespace eidolon::agent::server
