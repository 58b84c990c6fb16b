// A recorded rank takes the same way as a process: hello, segment, ring, hang-up. So the agent
// behind it needs no second path, and a replay exercises the one that jobs use. The ranks are
// driven by the main loop itself, hence the doorbell is not needed and its descriptor is closed.
// With even hosts every rank works as fast as the fastest one, which removes the differences of the
// machine that recorded them.
#include "services/agent/server/recorded_ranks.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <map>
#include <ranges>
#include <utility>

#include "services/agent/recording/host_work.h"
#include "services/base/text.h"

namespace eidolon::agent::server {

namespace wire = ::eidolon::ring;
namespace kept = ::eidolon::recording;
using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

// A recording holds one world: what other ranks would do nobody knows.
base::Result<void> CheckSize(const JobParts& job, const kept::RecordingFile& file) {
  const std::size_t world =
      std::size_t{job.assignment.servers()} * job.assignment.ranks_per_server();
  return file.CheckRanks(job.fold.live(), world);
}

// Returns what the host's work of each rank takes, in thousandths of what it took.
base::Result<std::map<std::int32_t, std::uint32_t>> HostPermilles(const JobParts& job,
                                                                  const kept::RecordingFile& file) {
  const std::uint32_t wanted = job.assignment.replay().host_permille();
  std::map<std::int32_t, std::uint32_t> permilles;
  std::map<std::int32_t, std::uint64_t> work;
  for (const kept::RecordedRank& recorded : file.ranks()) {
    permilles[recorded.header.rank] = wanted;
    if (!job.assignment.replay().even_hosts()) continue;
    // The first half holds what ranks do before they train, which need not be alike.
    const auto worked =
        recording::HostWorkOf(kept::EntryReader(recorded.entries), recorded.header.entries / 2);
    if (!worked) return std::unexpected(worked.error());
    work[recorded.header.rank] = *worked;
  }
  if (work.empty()) return permilles;
  const std::uint64_t least = std::ranges::min(work | std::views::values);
  for (const auto& [rank, worked] : work) {
    if (worked == 0) continue;
    const double share = static_cast<double>(least) / static_cast<double>(worked);
    permilles[rank] = static_cast<std::uint32_t>(std::lround(wanted * share));
  }
  return permilles;
}

// Receives what an agent sends to a process that introduces itself: the descriptor of its segment.
base::Result<int> ReceiveSegment(int socket) {
  wire::Welcome welcome{};
  iovec part{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != sizeof(welcome)) {
    return Fail(ErrorCode::kInternal, "a recorded rank got no welcome");
  }
  if (welcome.accepted == 0) return Fail(ErrorCode::kInvalidArgument, welcome.reason);
  int files[2] = {-1, -1};
  std::memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(files));
  close(files[1]);  // The doorbell: the agent is awake when a rank of its own writes.
  return files[0];
}

}  // namespace

struct RecordedRanks::Rank {
  int connection = -1;  // The agent's end.
  int socket = -1;
  void* segment = MAP_FAILED;
  std::unique_ptr<recording::Playback> playback;

  ~Rank() {
    if (segment != MAP_FAILED) munmap(segment, wire::kSegmentBytes);
    if (socket >= 0) close(socket);
  }
};

RecordedRanks::RecordedRanks(kept::RecordingFile file, Host host)
    : file_(std::move(file)), host_(std::move(host)) {}

RecordedRanks::~RecordedRanks() = default;

base::Result<std::unique_ptr<RecordedRanks>> RecordedRanks::Start(const JobParts& job, Host host) {
  auto file = kept::RecordingFile::Open(job.assignment.replay().recording());
  if (!file) return std::unexpected(file.error());
  if (auto fits = CheckSize(job, *file); !fits) return std::unexpected(fits.error());
  std::unique_ptr<RecordedRanks> ranks(new RecordedRanks(std::move(*file), std::move(host)));
  const auto permilles = HostPermilles(job, ranks->file_);
  if (!permilles) return std::unexpected(permilles.error());
  const std::uint32_t per_server = job.assignment.ranks_per_server();
  for (const kept::RecordedRank& recorded : ranks->file_.ranks()) {
    const auto rank = static_cast<std::uint32_t>(recorded.header.rank);
    if (rank / per_server != job.assignment.server()) continue;
    if (auto done = ranks->Introduce(job, recorded, permilles->at(recorded.header.rank)); !done) {
      return std::unexpected(done.error());
    }
  }
  return ranks;
}

base::Result<void> RecordedRanks::Introduce(const JobParts& job, const kept::RecordedRank& recorded,
                                            std::uint32_t host_permille) {
  const auto devices = static_cast<std::uint32_t>(job.content.devices.size());
  const std::int32_t number = recorded.header.rank;
  auto rank = std::make_unique<Rank>();
  int ends[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Fail(ErrorCode::kInternal, StrCat("cannot make a socket: ", std::strerror(errno)));
  }
  rank->connection = ends[0];
  rank->socket = ends[1];
  host_.on_hello(ends[0], {.magic = wire::kMagic,
                           .version = wire::kVersion,
                           .pid = getpid(),
                           .rank = number,
                           .local_rank = recorded.header.local_rank,
                           .world_size = static_cast<std::int32_t>(
                               job.assignment.servers() * job.assignment.ranks_per_server())});
  const auto segment = ReceiveSegment(ends[1]);
  if (!segment) return std::unexpected(segment.error());
  rank->segment =
      mmap(nullptr, wire::kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, *segment, 0);
  close(*segment);
  if (rank->segment == MAP_FAILED) {
    return Fail(ErrorCode::kInternal, StrCat("cannot map a segment: ", std::strerror(errno)));
  }
  rank->playback = std::make_unique<recording::Playback>(
      recording::Playback::Options{.device_count = devices,
                                   .host_permille = host_permille,
                                   .on_iteration =
                                       [this, number](std::uint64_t sequence, base::SimTime told) {
                                         host_.on_iteration(number, sequence, told);
                                       }},
      kept::EntryReader(recorded.entries), rank->segment);
  ranks_.push_back(std::move(rank));
  return {};
}

base::Result<bool> RecordedRanks::Advance() {
  bool moved = false;
  for (auto& rank : ranks_) {
    const auto advanced = rank->playback->Advance();
    if (!advanced) return std::unexpected(advanced.error());
    moved = moved || *advanced;
    if (!rank->playback->ended()) continue;
    wire::CursorsOf(rank->segment)
        ->farewell.store(static_cast<std::uint32_t>(wire::Farewell::kEnded));
    host_.on_hang_up(rank->connection);
    rank.reset();
    moved = true;
  }
  std::erase(ranks_, nullptr);
  return moved;
}

}  // namespace eidolon::agent::server
