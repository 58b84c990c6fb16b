// A connection is a state machine that the poller drives; no call here waits. A deadline counts
// from the beginning of a phase and not from the last byte, since a client that sends a byte now
// and then would otherwise stay for ever. For bodies and answers it grows with their size, so it
// asks for a mean rate. The last answer is followed by a half-close and by reading what the client
// still sends: closing a socket with unread bytes makes the kernel send a reset, which may destroy
// the answer on its way. Every way to kClosed abandons the outbox, so that the worker that fills it
// stops.
#include "services/controller/http/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <limits>

#include "services/base/check.h"

namespace eidolon::controller::http {
namespace {

// Rounds of one connection at a time, so that the others have their turn.
constexpr int kRounds = 4;
constexpr std::size_t kReadBytes = 16u << 10;

std::int64_t Ns(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

}  // namespace

Connection::Connection(Descriptor socket, Peer peer, const ConnectionLimits& limits,
                       std::int64_t now)
    : socket_(std::move(socket)),
      peer_(std::move(peer)),
      client_(ClientOf(peer_)),
      limits_(limits),
      reader_(limits.read),
      since_(now) {}

void Connection::Read(std::int64_t now) {
  std::array<char, kReadBytes> bytes;
  for (int round = 0; round < kRounds; ++round) {
    if (phase_ != Phase::kReading && phase_ != Phase::kClosing) return;
    if (phase_ == Phase::kReading && (has_request() || refusal() != nullptr)) return;
    const ssize_t count = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return Close();
    if (phase_ == Phase::kClosing) continue;
    const auto before = reader_.state();
    const auto after = reader_.Take({bytes.data(), static_cast<std::size_t>(count)});
    if (before != after && after != RequestReader::State::kComplete) since_ = now;
    if (reader_.TakeContinue()) {
      out_ += "HTTP/1.1 100 Continue\r\n\r\n";
      Write(now);
    }
  }
}

void Connection::Write(std::int64_t now) {
  for (int round = 0; round < kRounds; ++round) {
    if (phase_ == Phase::kClosed) return;
    if (sent_ == out_.size()) {
      out_ = outbox_ == nullptr ? std::string() : outbox_->Take();
      sent_ = 0;
    }
    if (out_.empty()) {
      full_since_ = 0;
      if (phase_ != Phase::kAnswering) return;
      if (outbox_ == nullptr || outbox_->drained()) EndAnswer(now);
      return;
    }
    if (full_since_ == 0) {
      full_since_ = now;
      sent_since_full_ = 0;
    }
    const ssize_t count =
        send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return Close();
    sent_ += static_cast<std::size_t>(count);
    sent_since_full_ += static_cast<std::size_t>(count);
  }
}

Request Connection::BeginAnswer(std::shared_ptr<Outbox> outbox, std::int64_t now) {
  Request request = reader_.Release();
  taken_bytes_ = request.head.capacity() + request.body.capacity();
  outbox_ = std::move(outbox);
  if (half_closed_) outbox_->MarkHalfClosed();
  phase_ = Phase::kAnswering;
  since_ = now;
  first_ = false;
  return request;
}

void Connection::EndAnswer(std::int64_t now) {
  const bool again = outbox_ != nullptr && outbox_->keep_open();
  outbox_.reset();
  taken_bytes_ = 0;
  std::string().swap(out_);
  sent_ = 0;
  since_ = now;
  if (again) {
    phase_ = Phase::kReading;
    return;
  }
  // What has not been read yet would make the kernel reset the connection, and the client might
  // never see the answer.
  phase_ = Phase::kClosing;
  if (half_closed_ || shutdown(socket_.get(), SHUT_WR) != 0) Close();
}

void Connection::Refuse(std::string answer, std::int64_t now) {
  if (outbox_ != nullptr) outbox_->Abandon();
  outbox_.reset();
  taken_bytes_ = 0;
  reader_.Drop();
  phase_ = Phase::kAnswering;
  since_ = now;
  full_since_ = 0;
  out_ = std::move(answer);
  sent_ = 0;
  Write(now);
}

void Connection::MarkHalfClosed() {
  half_closed_ = true;
  if (outbox_ != nullptr) outbox_->MarkHalfClosed();
}

void Connection::Close() {
  phase_ = Phase::kClosed;
  if (outbox_ != nullptr) outbox_->Abandon();
  outbox_.reset();
  reader_.Drop();
  taken_bytes_ = 0;
  std::string().swap(out_);
  sent_ = 0;
  socket_.Reset(-1);
}

bool Connection::has_request() const {
  return phase_ == Phase::kReading && reader_.state() == RequestReader::State::kComplete;
}

const Refusal* Connection::refusal() const {
  const bool refused =
      phase_ == Phase::kReading && reader_.state() == RequestReader::State::kRefused;
  return refused ? &reader_.refusal() : nullptr;
}

bool Connection::started() const {
  return phase_ == Phase::kReading && reader_.state() != RequestReader::State::kIdle;
}

// While an answer is made nothing is read, so a client that sends more fills only its own socket.
std::uint32_t Connection::interest() const {
  const bool left = answer_bytes() > 0 || (outbox_ != nullptr && !outbox_->empty());
  const std::uint32_t out = left ? std::uint32_t{EPOLLOUT} : 0;
  if (phase_ == Phase::kAnswering) return out | (half_closed_ ? 0 : std::uint32_t{EPOLLRDHUP});
  return out | std::uint32_t{EPOLLIN};
}

std::int64_t Connection::TransferNs(std::size_t bytes) const {
  const auto whole = static_cast<std::int64_t>(bytes);
  const auto rate = static_cast<std::int64_t>(limits_.transfer_bytes_per_second);
  return Ns(limits_.transfer_grace) + whole * 1'000'000'000 / rate;
}

std::int64_t Connection::deadline() const {
  switch (phase_) {
    case Phase::kReading:
      if (reader_.state() == RequestReader::State::kBody) {
        return since_ + TransferNs(reader_.body_bytes());
      }
      return since_ + Ns(started() || first_ ? limits_.head_deadline : limits_.idle_deadline);
    case Phase::kAnswering:
      if (full_since_ == 0) return std::numeric_limits<std::int64_t>::max();
      return full_since_ + TransferNs(sent_since_full_ + answer_bytes());
    case Phase::kClosing:
      return since_ + Ns(limits_.closing_deadline);
    case Phase::kClosed:
      break;
  }
  return 0;
}

Refusal Connection::Lateness() const {
  if (phase_ != Phase::kReading) {
    return {408, Reason::kSlowReader, "the answer was not read in time"};
  }
  if (reader_.state() == RequestReader::State::kBody) {
    return {408, Reason::kBodyDeadline, "the body did not arrive in time; send it again"};
  }
  return {408, Reason::kHeadDeadline, "the header lines did not arrive in time; send them again"};
}

std::optional<std::int64_t> Connection::waiting_since() const {
  if (phase_ == Phase::kReading && !has_request()) return since_;
  if (phase_ == Phase::kAnswering && full_since_ != 0) return full_since_;
  return std::nullopt;
}

}  // namespace eidolon::controller::http
