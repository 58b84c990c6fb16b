// The agent's half of the contract, in threads of the test's process. It checks what a real agent
// would be hurt by (sizes, alignment, the check of each record) with CHECK, so every test of a
// handler tests the ring as well. A record is kept before it is answered: a test that has its
// answer finds the record. Shared words are written in the agent's order, for example the copy of
// the floor before the floor, because the shim takes another order for damage. The one agent of a
// process is never destroyed; its threads end with the process.
#include "shim/core/fake_agent.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <thread>

#include "services/base/check.h"
#include "services/contract/ring/check.h"
#include "services/contract/ring/virtual_sleep.h"
#include "shim/core/session.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

// Offset of the slot number in a record that asks, or 0.
std::size_t SlotOffset(ring::RecordKind kind) {
  using enum ring::RecordKind;
  if (kind == kCommunicatorInit) return offsetof(ring::CommunicatorInit, slot);
  if (kind == kCommunicatorSplit) return offsetof(ring::CommunicatorSplit, slot);
  if (ring::AsksTime(kind)) return offsetof(ring::WaitRecord, slot);
  if (kind == kCollectiveValues || kind == kActivity) return offsetof(ring::WaitRecord, slot);
  return 0;
}

void* MapFile(int file, std::size_t bytes) {
  CHECK(ftruncate(file, static_cast<off_t>(bytes)) == 0);
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(mapped != MAP_FAILED);
  return mapped;
}

void SendWelcome(int socket, bool accepted, std::span<const int, 2> files) {
  ring::Welcome welcome{};
  welcome.magic = ring::kMagic;
  welcome.accepted = accepted ? 1 : 0;
  std::strncpy(welcome.reason, "the test refuses", sizeof(welcome.reason) - 1);
  iovec part{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (accepted) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  }
  CHECK(sendmsg(socket, &message, 0) == static_cast<ssize_t>(sizeof(welcome)));
}

}  // namespace

ring::DeviceProperties DefaultDevice(int index) {
  ring::DeviceProperties device{};
  std::strncpy(device.name, "NVIDIA H100 80GB HBM3", sizeof(device.name) - 1);
  for (int i = 0; i < 16; ++i) device.uuid[i] = static_cast<char>(index * 16 + i + 1);
  device.pci_bus = static_cast<std::uint32_t>(0x1b + index);
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.max_threads_per_multiprocessor = 2048;
  device.max_blocks_per_multiprocessor = 32;
  device.registers_per_multiprocessor = 65536;
  device.registers_per_block = 65536;
  device.shared_bytes_per_multiprocessor = 233472;
  device.shared_bytes_per_block = 49152;
  device.shared_bytes_per_block_optin = 232448;
  device.reserved_shared_bytes_per_block = 1024;
  device.sm_clock_khz = 1'980'000;
  device.memory_clock_khz = 2'619'000;
  device.memory_bus_bits = 5120;
  device.copy_engines = 3;
  device.nvlink_count = 18;
  device.nvlink_version = 4;
  device.power_limit_milliwatts = 700'000;
  device.nvlink_switch = 1;
  device.l2_bytes = 52'428'800;
  device.memory_bytes = std::uint64_t{80} << 30;
  device.context_bytes = 500 << 20;
  device.memory_bandwidth = 3'350'000'000'000;
  return device;
}

struct FakeAgent::Impl {
  explicit Impl(const Options& wanted) : options(wanted) {}

  void Listen();
  void FillSegment();
  void Serve();
  void ServeVirtualSleeps();
  void ServeVirtualSleep(int connection);
  bool DrainOnce();
  void Take(const char* at, std::uint32_t bytes);

  Options options;
  std::string directory;
  int listener = -1;
  std::atomic<int> peer{-1};
  int segment_file = -1;
  void* segment = nullptr;
  ring::ServerPage* page = nullptr;
  int doorbell_file = -1;
  ring::Doorbell* doorbell = nullptr;
  std::atomic<bool> paused{false};
  std::atomic<bool> resting{false};  // Has seen that it is paused.
  std::atomic<bool> dead{false};
  std::atomic<bool> virtual_sleeps_pass{false};
  std::atomic<int> virtual_sleeps_seen{0};
  std::atomic<int> virtual_sleeps_waiting{0};
  std::thread thread;

  std::mutex mutex;  // Guards the four below.
  std::vector<Record> records;
  std::map<std::uint32_t, std::vector<std::byte>> works;
  AnswerFunction answer = DefaultAnswer;
  std::function<void(std::uint32_t)> before_ready;
};

void FakeAgent::Impl::FillSegment() {
  segment_file = memfd_create("eidolon-test", MFD_CLOEXEC);
  segment = MapFile(segment_file, ring::kSegmentBytes);
  doorbell_file = memfd_create("eidolon-test", MFD_CLOEXEC);
  doorbell = static_cast<ring::Doorbell*>(MapFile(doorbell_file, ring::kDoorbellBytes));
  ring::SegmentHeader& header = *ring::HeaderOf(segment);
  header.magic = ring::kMagic;
  header.version = ring::kVersion;
  header.bytes = ring::kSegmentBytes;
  header.device_count = static_cast<std::uint32_t>(options.device_count);
  header.host_model = options.host_model;
  header.strict = options.strict ? 1 : 0;
  header.target_speed = options.target_speed;
  header.speed_ratio = options.speed_ratio;
  header.unknown_reads = options.compute_values ? ring::kComputeValues : 0;
  for (std::uint64_t& cost : header.host_costs.ps) cost = options.cost_ps;
  header.host_costs.operator_ps = options.operator_ps;
  header.host_costs.framework_ps = options.framework_ps;
  header.host_costs.frame_ps = options.frame_ps;
  header.driver_version = 13020;
  header.nccl_version = 23007;
  std::strncpy(header.driver_name, "580.82.07", sizeof(header.driver_name) - 1);
  header.nccl_channels = 16;
  for (int i = 0; i < options.device_count; ++i) {
    ring::DeviceProperties& device = ring::DevicesOf(segment)[i];
    device = DefaultDevice(i);
    device.compute_major = options.compute_major;
    device.compute_minor = options.compute_minor;
    ring::DevicesOf(segment)[i].memory_bytes = options.memory_bytes;
  }
}

void FakeAgent::Impl::Listen() {
  char path[] = "/tmp/eidolon-test-XXXXXX";
  CHECK(mkdtemp(path) != nullptr);
  directory = path;
  const int file = open((directory + "/server.page").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  page = static_cast<ring::ServerPage*>(MapFile(file, ring::kServerPageBytes));
  close(file);
  page->magic = ring::kMagic;
  page->version = ring::kVersion;
  page->host_model = options.host_model;

  listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = directory + "/agent.sock";
  CHECK(name.size() < sizeof(address.sun_path));
  std::copy(name.begin(), name.end(), address.sun_path);
  CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(listen(listener, 4) == 0);
  setenv("EIDOLON_RUN_DIR", directory.c_str(), 1);
}

void FakeAgent::Impl::Take(const char* at, std::uint32_t bytes) {
  Record record;
  record.bytes.resize(bytes);
  std::memcpy(record.bytes.data(), at, bytes);
  const ring::RecordKind kind = record.kind();
  AnswerFunction function;
  std::function<void(std::uint32_t)> last_touch;
  {
    const std::lock_guard guard(mutex);
    if (kind == ring::RecordKind::kDefineWork) {
      const auto& define = record.As<ring::DefineWork>();
      const auto begin = record.bytes.begin() + sizeof(define);
      works[define.work].assign(begin, begin + define.definition_bytes);
    }
    if (options.keep_records) records.push_back(record);
    function = answer;
    last_touch = before_ready;
  }
  const std::size_t offset = SlotOffset(kind);
  if (offset == 0) return;
  std::uint32_t number;
  std::memcpy(&number, record.bytes.data() + offset, sizeof(number));
  const Reply reply = function(record);
  ring::ReplySlot& slot = ring::RepliesOf(segment)[number];
  slot.status = reply.status;
  slot.value_ps = reply.value_ps;
  slot.extra = reply.extra;
  slot.payload_bytes = static_cast<std::uint32_t>(reply.payload.size());
  slot.check = ring::ReplyCheck(number, slot, reply.payload.data());
  CHECK(reply.payload.size() <= ring::kPayloadBytes);
  if (!reply.payload.empty()) {
    std::memcpy(ring::PayloadOf(segment, static_cast<int>(number)), reply.payload.data(),
                reply.payload.size());
  }
  if (last_touch) last_touch(number);
  slot.state.store(static_cast<std::uint32_t>(ring::SlotState::kReady), std::memory_order_release);
  FutexWake(&slot.state, 1);
}

bool FakeAgent::Impl::DrainOnce() {
  ring::Cursors& cursors = *ring::CursorsOf(segment);
  std::uint64_t read = cursors.read_position.value.load(std::memory_order_relaxed);
  const std::uint64_t end = cursors.write_position.value.load(std::memory_order_acquire);
  if (read == end) return false;
  while (read != end) {
    const char* at = ring::RingOf(segment) + read % ring::kRingBytes;
    std::uint32_t bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    ring::RecordKind kind;
    std::memcpy(&kind, at + sizeof(bytes), sizeof(kind));
    CHECK(bytes >= 8 && bytes % 8 == 0 && read + bytes <= end);
    if (kind != ring::RecordKind::kPad) {
      CHECK(ring::RecordCheck(read, at, bytes) ==
            reinterpret_cast<const ring::RecordHeader*>(at)->check);
      Take(at, bytes);
    }
    read += bytes;
    cursors.read_position.value.store(read, std::memory_order_seq_cst);
  }
  if (cursors.writer_waits.load(std::memory_order_seq_cst) != 0) {
    FutexWake(reinterpret_cast<std::atomic<std::uint32_t>*>(&cursors.read_position.value), 64);
  }
  return true;
}

void FakeAgent::Impl::ServeVirtualSleeps() {
  while (true) {
    const int connection = accept(listener, nullptr, nullptr);
    if (connection < 0) return;
    std::thread([this, connection] { ServeVirtualSleep(connection); }).detach();
  }
}

void FakeAgent::Impl::ServeVirtualSleep(int connection) {
  ring::VirtualSleep virtual_sleep{};
  CHECK(recv(connection, &virtual_sleep, sizeof(virtual_sleep), 0) ==
        static_cast<ssize_t>(sizeof(virtual_sleep)));
  CHECK(virtual_sleep.magic == ring::kVirtualSleepMagic);
  virtual_sleeps_seen.fetch_add(1);
  virtual_sleeps_waiting.fetch_add(1);
  while (!virtual_sleeps_pass.load() && !HasHungUp(connection)) RealSleep(2'000'000);
  virtual_sleeps_waiting.fetch_sub(1);
  if (virtual_sleeps_pass.load()) {
    ring::Cursors& cursors = *ring::CursorsOf(segment);
    const std::uint64_t end = virtual_sleep.moment_ps != 0
                                  ? virtual_sleep.moment_ps
                                  : cursors.clock_ps.value.load() + virtual_sleep.length_ps;
    if (cursors.floor_copy_ps.value.load() < end) {
      cursors.floor_copy_ps.value.store(end);
      cursors.floor_ps.value.store(end);
    }
    const ring::VirtualSleepEnd virtual_sleep_end{
        .magic = ring::kVirtualSleepMagic, .passed = 1, .reserved = 0};
    send(connection, &virtual_sleep_end, sizeof(virtual_sleep_end), MSG_NOSIGNAL);
  }
  close(connection);
}

void FakeAgent::Impl::Serve() {
  const int connection = accept(listener, nullptr, nullptr);
  if (connection < 0) return;
  peer.store(connection);
  ring::Hello hello{};
  CHECK(recv(connection, &hello, sizeof(hello), 0) == static_cast<ssize_t>(sizeof(hello)));
  const int files[] = {segment_file, doorbell_file};
  SendWelcome(connection, !options.refuse, files);
  std::thread([this] { ServeVirtualSleeps(); }).detach();
  while (!dead.load()) {
    page->job_clock_ps.store(ring::CursorsOf(segment)->clock_ps.value.load());
    const std::uint32_t bell = doorbell->rings.load();
    const bool rests = paused.load();
    resting.store(rests);
    if (!rests && DrainOnce()) continue;
    page->agent_sleeps.store(1);
    FutexWait(&doorbell->rings, bell, 500'000);
    page->agent_sleeps.store(0);
  }
}

FakeAgent::FakeAgent(const Options& options) : impl_(std::make_unique<Impl>(options)) {
  impl_->FillSegment();
  impl_->Listen();
  // Signals of the process are the test's: a handler that ran in a thread of the agent would not
  // wake who waits for it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  impl_->thread = std::thread([this] { impl_->Serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  impl_->thread.detach();
}

FakeAgent& FakeAgent::Start(const Options& options) {
  static FakeAgent* agent = [&options] {
    auto* made = new FakeAgent(options);
    std::atexit([] {
      const std::string directory = Start().run_directory();
      unlink((directory + "/agent.sock").c_str());
      unlink((directory + "/server.page").c_str());
      rmdir(directory.c_str());
    });
    return made;
  }();
  return *agent;
}

FakeAgent::Reply FakeAgent::DefaultAnswer(const Record& record) {
  using enum ring::RecordKind;
  Reply reply;
  reply.value_ps = record.header().host_clock_ps;
  if (record.kind() == kElapsedTime) reply.value_ps = 1'000'000'000;
  if (record.kind() == kWaitUntil) reply.value_ps = record.As<ring::WaitRecord>().id;
  if (record.kind() == kCollectiveValues) reply.status = ring::ReplyStatus::kInvalid;
  return reply;
}

void FakeAgent::AnswerWith(AnswerFunction function) {
  const std::lock_guard guard(impl_->mutex);
  impl_->answer = std::move(function);
}

void FakeAgent::BeforeReady(std::function<void(std::uint32_t)> function) {
  const std::lock_guard guard(impl_->mutex);
  impl_->before_ready = std::move(function);
}

std::vector<FakeAgent::Record> FakeAgent::Records() {
  const ring::Cursors& at = cursors();
  while (!impl_->dead.load() && at.read_position.value.load() != at.write_position.value.load()) {
    impl_->doorbell->rings.fetch_add(1);
    FutexWake(&impl_->doorbell->rings, 1);
    RealSleep(20'000);
  }
  const std::lock_guard guard(impl_->mutex);
  return impl_->records;
}

std::vector<FakeAgent::Record> FakeAgent::RecordsOf(ring::RecordKind kind) {
  std::vector<Record> result;
  for (Record& record : Records()) {
    if (record.kind() == kind) result.push_back(std::move(record));
  }
  return result;
}

std::vector<ring::RecordKind> FakeAgent::Kinds() {
  std::vector<ring::RecordKind> result;
  for (const Record& record : Records()) result.push_back(record.kind());
  return result;
}

std::vector<std::byte> FakeAgent::Work(std::uint32_t work) {
  Records();
  const std::lock_guard guard(impl_->mutex);
  return impl_->works[work];
}

void FakeAgent::LetVirtualSleepsPass(bool pass) { impl_->virtual_sleeps_pass.store(pass); }
int FakeAgent::virtual_sleeps_seen() const { return impl_->virtual_sleeps_seen.load(); }
int FakeAgent::virtual_sleeps_waiting() const { return impl_->virtual_sleeps_waiting.load(); }

void FakeAgent::Reset() {
  Records();
  impl_->virtual_sleeps_pass.store(false);
  const std::lock_guard guard(impl_->mutex);
  impl_->records.clear();
  impl_->answer = DefaultAnswer;
}

void FakeAgent::Pause() {
  impl_->paused.store(true);
  while (impl_->peer.load() >= 0 && !impl_->dead.load() && !impl_->resting.load()) {
    RealSleep(20'000);
  }
}
void FakeAgent::Resume() { impl_->paused.store(false); }

void FakeAgent::Die() {
  impl_->dead.store(true);
  shutdown(impl_->peer.load(), SHUT_RDWR);
}

ring::SegmentHeader& FakeAgent::header() {
  const Session* session = Session::Existing();
  return session == nullptr ? *ring::HeaderOf(impl_->segment)
                            : const_cast<ring::SegmentHeader&>(session->header());
}
void* FakeAgent::segment() { return impl_->segment; }
ring::Cursors& FakeAgent::cursors() { return *ring::CursorsOf(impl_->segment); }
ring::ServerPage& FakeAgent::page() { return *impl_->page; }
const std::string& FakeAgent::run_directory() const { return impl_->directory; }

}  // namespace eidolon::shim::core
