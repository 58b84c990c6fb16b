// Ids and not pointers are given to epoll: an id is never used again, so a late event or ring for a
// connection that has ended finds nothing. Entries are erased in Sweep alone, which keeps pointers
// valid for a whole round. Workers never touch a connection. They fill its outbox and ring the
// bell, an eventfd whose set of ids the poller takes; the bell is shared because an outbox may
// outlive its connection. Each round serves open connections before it accepts, so that a newcomer
// evicts no connection whose request has arrived already. The scans over all entries are linear,
// which the limits of ConnectionLimits keep cheap.
#include "services/controller/http/connections.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>

#include "services/base/text.h"

namespace eidolon::controller::http {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;
using Phase = Connection::Phase;

constexpr std::uint64_t kBellId = 0;
// Listeners have the ids from 1 on.
constexpr std::uint64_t kFirstConnectionId = 1000;
constexpr int kAcceptedAtOnce = 64;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kAcceptPauseNs = 100 * kMillisecond;
// A reader that has not kept up for this long may have to make room.
constexpr std::int64_t kSlowNs = 1000 * kMillisecond;
// Time that Stop waits for readers.
constexpr std::int64_t kStopNs = 2000 * kMillisecond;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

// Shared with outboxes, which may outlive the connections.
class Connections::Bell {
 public:
  Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Ring(std::uint64_t id) {
    {
      const std::lock_guard lock(mutex_);
      if (!ids_.insert(id).second) return;
    }
    const std::uint64_t one = 1;
    // Fails only when it is rung already.
    [[maybe_unused]] const ssize_t ignored = write(descriptor_.get(), &one, sizeof one);
  }
  std::set<std::uint64_t> Take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t ignored = read(descriptor_.get(), &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(ids_, {});
  }
  int descriptor() const { return descriptor_.get(); }

 private:
  const Descriptor descriptor_;
  std::mutex mutex_;
  std::set<std::uint64_t> ids_;  // Guarded by mutex_.
};

Connections::Connections(const ConnectionLimits& limits, ConnectionEvents events,
                         const base::RealClock& clock)
    : limits_(limits),
      events_(std::move(events)),
      clock_(clock),
      bell_(std::make_shared<Bell>()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      next_id_(kFirstConnectionId) {}

Result<void> Connections::Start(std::vector<Descriptor> listeners) {
  listeners_ = std::move(listeners);
  bool watched = Watch(bell_->descriptor(), kBellId, EPOLLIN);
  for (std::size_t at = 0; at < listeners_.size(); ++at) {
    watched = watched && Watch(listeners_[at].get(), at + 1, EPOLLIN);
  }
  if (!watched) {
    return Fail(ErrorCode::kInternal,
                StrCat("cannot wait for connections: ", std::strerror(errno)));
  }
  thread_ = std::thread([this] { Run(); });
  return {};
}

void Connections::Stop() {
  if (!thread_.joinable()) return;
  stop_wanted_ = true;
  bell_->Ring(kBellId);
  thread_.join();
}

void Connections::Run() {
  std::array<epoll_event, 64> ready;
  while (stopping_since_ == 0 || !entries_.empty()) {
    const int count = epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()),
                                 TimeoutMs(clock_.MonotonicNs()));
    const std::int64_t now = clock_.MonotonicNs();
    // Taken before the request to stop is looked for: who rings has asked before.
    const std::set<std::uint64_t> rung = bell_->Take();
    if (stop_wanted_ && stopping_since_ == 0) BeginStop(now);
    ResumeAccepting(now);
    // First what is there already, so that new connections push out nobody who has spoken.
    for (int at = 0; at < count; ++at) {
      const auto& event = ready[static_cast<std::size_t>(at)];
      if (event.data.u64 >= kFirstConnectionId) OnReady(event.data.u64, event.events, now);
    }
    for (const std::uint64_t id : rung) OnReady(id, EPOLLOUT, now);
    for (int at = 0; at < count; ++at) {
      const std::uint64_t id = ready[static_cast<std::size_t>(at)].data.u64;
      if (id > kBellId && id <= listeners_.size()) Accept(listeners_[id - 1].get(), now);
    }
    EndLate(now);
    RelieveMemory(now);
    Sweep();
  }
}

void Connections::BeginStop(std::int64_t now) {
  stopping_since_ = now;
  listeners_.clear();
}

bool Connections::Watch(int descriptor, std::uint64_t id, std::uint32_t interest) {
  epoll_event event = {};
  event.events = interest;
  event.data.u64 = id;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return true;
  return errno == EEXIST && epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event) == 0;
}

void Connections::Accept(int listener, std::int64_t now) {
  for (int at = 0; at < kAcceptedAtOnce; ++at) {
    Descriptor socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.valid()) {
      Add(std::move(socket), now);
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      PauseAccepting(now);
    }
    // ECONNABORTED and the like: the next event brings the others.
    return;
  }
}

void Connections::PauseAccepting(std::int64_t now) {
  accept_again_at_ = now + kAcceptPauseNs;
  for (std::size_t at = 0; at < listeners_.size(); ++at) Watch(listeners_[at].get(), at + 1, 0);
  Evict("", {503, Reason::kConnections, "the server has no descriptor left; try again"}, now);
}

void Connections::ResumeAccepting(std::int64_t now) {
  if (accept_again_at_ == 0 || now < accept_again_at_) return;
  accept_again_at_ = 0;
  for (std::size_t at = 0; at < listeners_.size(); ++at) {
    Watch(listeners_[at].get(), at + 1, EPOLLIN);
  }
}

void Connections::Add(Descriptor socket, std::int64_t now) {
  auto peer = PeerOf(socket.get());
  if (!peer) return;
  if (!peer->user && events_.find_user) peer->user = events_.find_user(socket.get());
  const int yes = 1;
  // Neither exists for a Unix socket.
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
  const std::uint64_t id = next_id_++;
  auto connection = std::make_unique<Connection>(std::move(socket), std::move(*peer), limits_, now);
  const std::string client = connection->client();
  auto excess = MakeRoom(client, now);
  const bool is_excess = excess != nullptr;
  const std::uint32_t interest = connection->interest();
  if (!Watch(connection->socket(), id, interest)) return;
  entries_.emplace(id, Entry{std::move(connection), interest, std::move(excess)});
  // Most clients have sent their request by now.
  OnReady(id, EPOLLIN, now);
  if (is_excess) BoundExcess(client, now);
}

std::unique_ptr<Refusal> Connections::MakeRoom(const std::string& client, std::int64_t now) {
  std::size_t all = 0;
  std::size_t own = 0;
  for (const auto& [id, entry] : entries_) {
    if (entry.connection->last() || entry.excess != nullptr) continue;
    ++all;
    own += entry.connection->client() == client;
  }
  if (own >= limits_.client_connections_max) {
    const Refusal refusal = {429, Reason::kClientConnections,
                             StrCat("this client has ", limits_.client_connections_max,
                                    " connections, and may have no more; close some")};
    if (!Evict(client, refusal, now)) return std::make_unique<Refusal>(refusal);
  } else if (all >= limits_.connections_max) {
    const Refusal refusal = {503, Reason::kConnections,
                             StrCat("there are ", limits_.connections_max,
                                    " connections, and there may be no more; try again")};
    if (!Evict(BiggestClient(), refusal, now)) return std::make_unique<Refusal>(refusal);
  }
  return nullptr;
}

std::string Connections::BiggestClient() const {
  std::map<std::string, std::size_t> counts;
  for (const auto& [id, entry] : entries_) {
    const bool waits = entry.connection->waiting_since().has_value();
    if (waits && !entry.connection->last() && !entry.excess) ++counts[entry.connection->client()];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

bool Connections::Evict(const std::string& client, const Refusal& refusal, std::int64_t now) {
  Connection* longest = nullptr;
  for (const auto& [id, entry] : entries_) {
    Connection* const at = entry.connection.get();
    const auto since = at->waiting_since();
    if (!since || at->last() || entry.excess || (!client.empty() && at->client() != client))
      continue;
    if (at->phase() == Phase::kAnswering && now - *since < kSlowNs) continue;
    if (longest == nullptr || *since < *longest->waiting_since()) longest = at;
  }
  if (longest == nullptr) return false;
  Refuse(longest, refusal, now);
  return true;
}

void Connections::BoundExcess(const std::string& client, std::int64_t now) {
  std::size_t all = 0;
  std::map<std::string, std::size_t> counts;
  for (const auto& [id, entry] : entries_) {
    if (entry.excess == nullptr || entry.connection->last()) continue;
    ++all;
    ++counts[entry.connection->client()];
  }
  if (counts[client] > limits_.client_excess_max) {
    EvictExcess(client, now);
  } else if (all > limits_.excess_max) {
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& row) { return row.second; });
    EvictExcess(most->first, now);
  }
}

bool Connections::EvictExcess(const std::string& client, std::int64_t now) {
  for (const auto& [id, entry] : entries_) {
    Connection* const at = entry.connection.get();
    if (entry.excess == nullptr || at->last() || at->client() != client) continue;
    if (!at->waiting_since()) continue;
    Refuse(at, *entry.excess, now);
    return true;
  }
  return false;
}

void Connections::OnReady(std::uint64_t id, std::uint32_t events, std::int64_t now) {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return;
  Connection* const connection = found->second.connection.get();
  if ((events & EPOLLRDHUP) != 0 && connection->phase() == Phase::kAnswering) {
    connection->MarkHalfClosed();
  }
  if ((events & EPOLLIN) != 0) connection->Read(now);
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    connection->Close();
  } else if ((events & EPOLLOUT) != 0) {
    connection->Write(now);
  }
  Settle(id, now);
}

void Connections::Settle(std::uint64_t id, std::int64_t now) {
  const Entry& entry = entries_.at(id);
  Connection* const connection = entry.connection.get();
  if (const Refusal* refusal = connection->refusal()) Refuse(connection, Refusal(*refusal), now);
  if (connection->has_request()) {
    if (entry.excess != nullptr && !events_.is_unlimited(connection->path())) {
      return Refuse(connection, *entry.excess, now);
    }
    if (!HasRoomForRequest(connection->client(), now)) {
      Refuse(connection, {503, Reason::kMemory, "too many requests wait; try again"}, now);
    } else {
      auto outbox = std::make_shared<Outbox>([bell = bell_, id] { bell->Ring(id); });
      Request request = connection->BeginAnswer(outbox, now);
      events_.on_request(std::move(request), connection->peer(), std::move(outbox));
    }
  }
}

void Connections::Refuse(Connection* connection, const Refusal& refusal, std::int64_t now) {
  events_.on_refusal(refusal);
  // Nobody reads an answer who does not read the one before; who has asked nothing expects none.
  const bool idle =
      connection->phase() == Phase::kReading && !connection->started() && !connection->first();
  if (idle || connection->phase() == Phase::kAnswering) return connection->Close();
  connection->Refuse(events_.to_answer(refusal), now);
}

void Connections::EndLate(std::int64_t now) {
  for (auto& [id, entry] : entries_) {
    Connection* const connection = entry.connection.get();
    std::int64_t deadline = DeadlineOf(entry);
    if (stopping_since_ != 0) {
      const bool waits = connection->waiting_since().has_value();
      if (waits) deadline = std::min(deadline, stopping_since_ + kStopNs);
      if (connection->phase() == Phase::kReading) deadline = now;
    }
    if (now < deadline || connection->phase() == Phase::kClosed) continue;
    const bool quiet =
        connection->phase() == Phase::kClosing || stopping_since_ != 0 ||
        (connection->phase() == Phase::kReading && !connection->started() && !connection->first());
    if (quiet) {
      connection->Close();
    } else {
      Refuse(connection, entry.excess ? *entry.excess : connection->Lateness(), now);
    }
    Settle(id, now);
  }
}

std::int64_t Connections::DeadlineOf(const Entry& entry) const {
  const std::int64_t deadline = entry.connection->deadline();
  const auto since = entry.connection->waiting_since();
  if (entry.excess == nullptr || !since) return deadline;
  const std::int64_t own = std::chrono::nanoseconds(limits_.excess_deadline).count();
  return std::min(deadline, *since + own);
}

std::size_t Connections::BytesIn(Phase phase, const std::string& client) const {
  std::size_t sum = 0;
  for (const auto& [id, entry] : entries_) {
    const Connection& at = *entry.connection;
    if (!client.empty() && at.client() != client) continue;
    sum += phase == Phase::kReading ? at.request_bytes() : at.answer_bytes();
  }
  return sum;
}

bool Connections::HasRoomForRequest(const std::string& client, std::int64_t now) {
  RelieveMemory(now);
  const auto has_share = [&] {
    return BytesIn(Phase::kReading, client) <= limits_.request_bytes_max / 2;
  };
  while (!has_share() && RelieveOnce(Phase::kReading, client, now)) {
  }
  return has_share() && BytesIn(Phase::kReading, "") <= limits_.request_bytes_max;
}

bool Connections::RelieveOnce(Phase phase, const std::string& client, std::int64_t now) {
  // Bytes that could be given back, by client.
  std::map<std::string, std::size_t> held;
  const auto bytes_of = [phase](const Connection& at) -> std::size_t {
    const bool holds = phase == Phase::kReading ? at.started() : at.answer_bytes() > 0;
    if (at.phase() != phase || !holds || !at.waiting_since()) return 0;
    return phase == Phase::kReading ? at.request_bytes() : at.answer_bytes();
  };
  for (const auto& [id, entry] : entries_) {
    const Connection& at = *entry.connection;
    const std::size_t bytes = client.empty() || at.client() == client ? bytes_of(at) : 0;
    if (bytes > 0) held[at.client()] += bytes;
  }
  if (held.empty()) return false;
  const auto most = std::ranges::max_element(held, {}, [](const auto& row) { return row.second; });
  Connection* oldest = nullptr;
  for (const auto& [id, entry] : entries_) {
    Connection* const at = entry.connection.get();
    if (at->client() != most->first || bytes_of(*at) == 0) continue;
    if (oldest == nullptr || *at->waiting_since() < *oldest->waiting_since()) oldest = at;
  }
  const char* const detail = phase == Phase::kReading
                                 ? "too many requests are being read; try again"
                                 : "too many answers are not read";
  Refuse(oldest, {503, Reason::kMemory, detail}, now);
  return true;
}

void Connections::RelieveMemory(std::int64_t now) {
  while (BytesIn(Phase::kReading, "") > limits_.request_bytes_max) {
    if (!RelieveOnce(Phase::kReading, "", now)) break;
  }
  while (BytesIn(Phase::kAnswering, "") > limits_.answer_bytes_max) {
    if (!RelieveOnce(Phase::kAnswering, "", now)) break;
  }
}

void Connections::Sweep() {
  std::size_t closing = 0;
  std::size_t open = 0;
  // The newest first: the oldest of too many that are closing are not waited for.
  for (auto at = entries_.rbegin(); at != entries_.rend(); ++at) {
    Entry& entry = at->second;
    Connection* const connection = entry.connection.get();
    if (connection->last() && ++closing > limits_.closing_max) connection->Close();
    if (connection->phase() == Phase::kClosed) continue;
    open += !connection->last();
    const std::uint32_t wanted = connection->interest();
    if (wanted != entry.interest) Watch(connection->socket(), at->first, wanted);
    entry.interest = wanted;
  }
  std::erase_if(entries_, [](const auto& entry) {
    return entry.second.connection->phase() == Phase::kClosed;
  });
  if (open != count_) events_.on_count(open);
  count_ = open;
}

int Connections::TimeoutMs(std::int64_t now) const {
  std::int64_t next = accept_again_at_ == 0 ? kNever : accept_again_at_;
  for (const auto& [id, entry] : entries_) {
    next = std::min(next, DeadlineOf(entry));
  }
  if (stopping_since_ != 0) next = std::min(next, now + 10 * kMillisecond);
  if (next == kNever) return -1;
  const std::int64_t left = (next - now + kMillisecond - 1) / kMillisecond;
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

}  // namespace eidolon::controller::http
