#include "services/agent/ring/server_page.h"

#include <fcntl.h>
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

#include "services/base/text.h"

namespace eidolon::agent::ring {

base::Result<ServerPage> ServerPage::Create(const std::string& run_directory,
                                            wire::HostModel host_model,
                                            std::int64_t epoch_unix_ns) {
  const std::string path = base::StrCat(run_directory, "/server.page");
  const auto failed = [&] {
    return base::Fail(base::ErrorCode::kInternal,
                      base::StrCat("making '", path, "': ", std::strerror(errno)));
  };
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  // Its blocks now: on a full disk a mapped page that has none ends whoever touches it.
  const int missing = ftruncate(file, wire::kServerPageBytes) != 0
                          ? errno
                          : posix_fallocate(file, 0, wire::kServerPageBytes);
  if (missing != 0) {
    close(file);
    unlink(path.c_str());
    errno = missing;
    return failed();
  }
  void* base = mmap(nullptr, wire::kServerPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (base == MAP_FAILED) return failed();
  ServerPage result;
  result.page_ = new (base) wire::ServerPage{};
  result.page_->magic = wire::kMagic;
  result.page_->version = wire::kVersion;
  result.page_->host_model = host_model;
  result.page_->epoch_unix_ns = epoch_unix_ns;
  return result;
}

ServerPage::ServerPage(ServerPage&& other) noexcept : page_(std::exchange(other.page_, nullptr)) {}

ServerPage& ServerPage::operator=(ServerPage&& other) noexcept {
  std::swap(page_, other.page_);
  return *this;
}

ServerPage::~ServerPage() {
  if (page_ != nullptr) munmap(page_, wire::kServerPageBytes);
}

void ServerPage::RaiseJobClock(std::uint64_t clock_ps) {
  if (page_->job_clock_ps.load(std::memory_order_relaxed) < clock_ps) {
    page_->job_clock_ps.store(clock_ps, std::memory_order_release);
  }
}

std::uint64_t ServerPage::job_clock_ps() const {
  return page_->job_clock_ps.load(std::memory_order_acquire);
}

std::uint32_t ServerPage::doorbell() const { return page_->doorbell.load(); }

void ServerPage::Sleep(std::uint32_t seen, std::int64_t timeout_ns) {
  page_->agent_sleeps.store(1);
  if (page_->doorbell.load() == seen) {
    const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
    syscall(SYS_futex, &page_->doorbell, FUTEX_WAIT, seen, &timeout, nullptr, 0);
  }
  page_->agent_sleeps.store(0);
}

void ServerPage::Ring() {
  page_->doorbell.fetch_add(1);
  if (page_->agent_sleeps.load() != 0) {
    syscall(SYS_futex, &page_->doorbell, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr,
            nullptr, 0);
  }
}

}  // namespace eidolon::agent::ring
