// The agent sleeps on the doorbell, and a shim must not pay a system call each time it rings. So it
// adds one, and it wakes the agent only while `agent_sleeps` is set. The agent sets the flag before
// it compares the count, and a shim adds before it reads the flag: one of the two sees the other.
// The page itself is sealed against writing by others, and processes find it by a link to the
// agent's descriptor, which ends with the agent.
#include "services/agent/ring/server_page.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <utility>

#include "services/agent/ring/seal.h"
#include "services/base/text.h"
#include "services/contract/channel/delivery_table.h"

namespace eidolon::agent::ring {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

namespace {

// Makes and maps a memory file; the descriptor goes to *file, also when something fails later.
Result<void*> MapNew(const char* name, std::size_t bytes, Sealed sealed, int* file) {
  *file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void* base = MAP_FAILED;
  if (*file >= 0 && ftruncate(*file, static_cast<off_t>(bytes)) == 0) {
    base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
  }
  if (base == MAP_FAILED) {
    return Fail(ErrorCode::kResourceExhausted,
                StrCat("shared memory '", name, "': ", std::strerror(errno)));
  }
  if (auto done = Seal(*file, sealed); !done) {
    munmap(base, bytes);
    return std::unexpected(done.error());
  }
  return base;
}

// Makes a link to a file of this process, by which others find it.
Result<void> Link(int file, const std::string& link) {
  const std::string target = StrCat("/proc/", getpid(), "/fd/", file);
  unlink(link.c_str());
  if (symlink(target.c_str(), link.c_str()) == 0) return {};
  return Fail(ErrorCode::kInternal, StrCat("making '", link, "': ", std::strerror(errno)));
}

}  // namespace

Result<ServerPage> ServerPage::Create(const std::string& run_directory, wire::HostModel host_model,
                                      std::int64_t epoch_unix_ns) {
  ServerPage result;
  const auto page =
      MapNew("eidolon-page", wire::kServerPageBytes, Sealed::kSizeAndWriting, &result.page_file_);
  if (!page) return std::unexpected(page.error());
  result.page_ = new (*page) wire::ServerPage{};
  result.page_->magic = wire::kMagic;
  result.page_->version = wire::kVersion;
  result.page_->host_model = host_model;
  result.page_->epoch_unix_ns = epoch_unix_ns;
  const auto doorbell =
      MapNew("eidolon-doorbell", wire::kDoorbellBytes, Sealed::kSize, &result.doorbell_file_);
  if (!doorbell) return std::unexpected(doorbell.error());
  result.doorbell_ = new (*doorbell) wire::Doorbell{};

  const auto channels = MapNew("eidolon-channels", sizeof(channel::DeliveryTable), Sealed::kSize,
                               &result.channels_file_);
  if (!channels) return std::unexpected(channels.error());
  munmap(*channels, sizeof(channel::DeliveryTable));  // All zeros, as a new file is.
  for (const auto& [name, file] : {std::pair{"/server.page", result.page_file_},
                                   std::pair{"/channels", result.channels_file_}}) {
    if (auto done = Link(file, StrCat(run_directory, name)); !done) {
      return std::unexpected(done.error());
    }
  }
  return result;
}

ServerPage::ServerPage(ServerPage&& other) noexcept
    : page_file_(std::exchange(other.page_file_, -1)),
      doorbell_file_(std::exchange(other.doorbell_file_, -1)),
      channels_file_(std::exchange(other.channels_file_, -1)),
      page_(std::exchange(other.page_, nullptr)),
      doorbell_(std::exchange(other.doorbell_, nullptr)) {}

ServerPage& ServerPage::operator=(ServerPage&& other) noexcept {
  std::swap(page_file_, other.page_file_);
  std::swap(doorbell_file_, other.doorbell_file_);
  std::swap(channels_file_, other.channels_file_);
  std::swap(page_, other.page_);
  std::swap(doorbell_, other.doorbell_);
  return *this;
}

ServerPage::~ServerPage() {
  if (page_ != nullptr) munmap(page_, wire::kServerPageBytes);
  if (doorbell_ != nullptr) munmap(doorbell_, wire::kDoorbellBytes);
  if (page_file_ >= 0) close(page_file_);
  if (doorbell_file_ >= 0) close(doorbell_file_);
  if (channels_file_ >= 0) close(channels_file_);
}

void ServerPage::TellDeviceCount(std::uint32_t count) { page_->device_count = count; }

void ServerPage::RaiseJobClock(std::uint64_t clock_ps) {
  if (page_->job_clock_ps.load(std::memory_order_relaxed) < clock_ps) {
    page_->job_clock_ps.store(clock_ps, std::memory_order_release);
  }
}

std::uint64_t ServerPage::job_clock_ps() const {
  return page_->job_clock_ps.load(std::memory_order_acquire);
}

std::uint32_t ServerPage::doorbell() const { return doorbell_->rings.load(); }

void ServerPage::Sleep(std::uint32_t seen, std::int64_t timeout_ns) {
  page_->agent_sleeps.store(1);
  if (doorbell_->rings.load() == seen) {
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    syscall(SYS_futex, &doorbell_->rings, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
  page_->agent_sleeps.store(0);
}

void ServerPage::Ring() {
  doorbell_->rings.fetch_add(1);
  if (page_->agent_sleeps.load() != 0) {
    syscall(SYS_futex, &doorbell_->rings, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
            nullptr, 0);
  }
}

}  // namespace eidolon::agent::ring
