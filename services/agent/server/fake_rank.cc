// This is the shim's side of the protocol in its shortest form, without a preloaded library: a test
// can do in one line what the shim would do, and also what it never would (vanish, say a wrong
// farewell). Ask blocks like the shim on the slot's futex, so the agent under test must run in
// another thread.
#include "services/agent/server/fake_rank.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "services/base/check.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;

FakeRank::FakeRank(const std::string& run_directory, const Identity& identity) {
  socket_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (run_directory + "/agent.sock").copy(address.sun_path, sizeof(address.sun_path) - 1);
  CHECK(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  const wire::Hello hello{.magic = wire::kMagic,
                          .version = wire::kVersion,
                          .pid = identity.pid == 0 ? getpid() : identity.pid,
                          .rank = identity.rank,
                          .local_rank = identity.rank,
                          .world_size = identity.world_size};
  CHECK(send(socket_, &hello, sizeof(hello), 0) == sizeof(hello));
  wire::Welcome welcome{};
  iovec part{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  CHECK(recvmsg(socket_, &message, MSG_CMSG_CLOEXEC) == sizeof(welcome));
  if (welcome.accepted == 0) {
    refusal_ = welcome.reason;
    return;
  }
  int files[2] = {-1, -1};
  std::memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(files));
  const auto map = [](int file, std::size_t bytes, int access) {
    void* mapped = mmap(nullptr, bytes, access, MAP_SHARED, file, 0);
    CHECK(mapped != MAP_FAILED);
    close(file);
    return mapped;
  };
  segment_ = map(files[0], wire::kSegmentBytes, PROT_READ | PROT_WRITE);
  doorbell_ =
      static_cast<wire::Doorbell*>(map(files[1], wire::kDoorbellBytes, PROT_READ | PROT_WRITE));
  const int page = open((run_directory + "/server.page").c_str(), O_RDONLY | O_CLOEXEC);
  page_ = static_cast<const wire::ServerPage*>(map(page, wire::kServerPageBytes, PROT_READ));
  writer_ = std::make_unique<ring::FakeWriter>(segment_);
}

void FakeRank::SayFarewell(wire::Farewell farewell) {
  wire::CursorsOf(segment_)->farewell.store(static_cast<std::uint32_t>(farewell));
}

void FakeRank::Vanish() {
  close(socket_);
  socket_ = -1;
}

FakeRank::~FakeRank() {
  if (segment_ != nullptr && socket_ >= 0) SayFarewell(wire::Farewell::kEnded);
  close(socket_);
  if (segment_ != nullptr) munmap(segment_, wire::kSegmentBytes);
  if (doorbell_ != nullptr) munmap(doorbell_, wire::kDoorbellBytes);
  if (page_ != nullptr) {
    munmap(const_cast<wire::ServerPage*>(page_), wire::kServerPageBytes);
  }
}

void FakeRank::Work(std::uint64_t ps) {
  clock_ps_ += ps;
  writer_->SetClock(clock_ps_);
}

FakeRank::Answer FakeRank::Wait() {
  doorbell_->rings.fetch_add(1);
  if (page_->agent_sleeps.load() != 0) {
    syscall(SYS_futex, &doorbell_->rings, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
  while (!writer_->IsAnswered(0)) {
    syscall(SYS_futex, &writer_->SlotOf(0).state, FUTEX_WAIT,
            static_cast<std::uint32_t>(wire::SlotState::kPending), nullptr, nullptr, 0);
  }
  const wire::ReplySlot& slot = writer_->SlotOf(0);
  return {.status = slot.status,
          .value_ps = slot.value_ps,
          .extra = slot.extra,
          .payload = std::string(wire::PayloadOf(segment_, 0), slot.payload_bytes)};
}

FakeRank::Answer FakeRank::Ask(wire::RecordKind kind, std::uint64_t id, std::uint64_t id2) {
  writer_->Ask(kind, 0, id, id2);
  const Answer answer = Wait();
  const bool is_time = kind == wire::RecordKind::kSynchronizeStream ||
                       kind == wire::RecordKind::kSynchronizeDevice ||
                       kind == wire::RecordKind::kSynchronizeEvent;
  if (is_time && answer.value_ps > clock_ps_) Work(answer.value_ps - clock_ps_);
  return answer;
}

FakeRank::Answer FakeRank::Join(std::uint32_t communicator, const std::string& name, int size,
                                int rank) {
  wire::CommunicatorInit init{};
  init.communicator = communicator;
  name.copy(init.unique_id, sizeof(init.unique_id));
  init.size = size;
  init.rank = rank;
  writer_->Pend(0);
  writer_->Append(wire::RecordKind::kCommunicatorInit, init);
  const Answer answer = Wait();
  if (answer.value_ps > clock_ps_) Work(answer.value_ps - clock_ps_);
  return answer;
}

void FakeRank::AllReduce(std::uint32_t stream, std::uint32_t communicator, std::uint64_t sequence,
                         const std::string& payload) {
  wire::CommunicationRecord record{};
  record.stream = stream;
  record.communicator = communicator;
  record.op_count = 1;
  record.payload_bytes = static_cast<std::uint32_t>(payload.size());
  wire::CommunicationOp op{};
  op.kind = wire::CommunicationKind::kAllReduce;
  op.peer = -1;
  op.count = 1024;
  op.bytes = 4096;
  op.sequence = sequence;
  op.payload_bytes = record.payload_bytes;
  std::vector<std::byte> tail(sizeof(op) + payload.size());
  std::memcpy(tail.data(), &op, sizeof(op));
  if (!payload.empty()) std::memcpy(tail.data() + sizeof(op), payload.data(), payload.size());
  writer_->Append(wire::RecordKind::kCommunication, record, tail);
}

}  // namespace eidolon::agent::server
