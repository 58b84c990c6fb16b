// Time in a process of a job that never touches a GPU: torchrun, a data loader, a shell.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "services/contract/ring/layout.h"
#include "shim/program/time/test_world.h"
#include "shim/program/time/virtual_clock.h"

namespace eidolon::shim::time {
namespace {

constexpr std::int64_t kEpochNs = 1'800'000'000'000'000'000;

// Makes this process part of a job.
ring::ServerPage* MakeJob() {
  std::string folder = testing::TempDir() + "/gpu_free_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return nullptr;
  const int file = open((folder + "/server.page").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, ring::kServerPageBytes) != 0) return nullptr;
  void* mapped = mmap(nullptr, ring::kServerPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  auto* page = static_cast<ring::ServerPage*>(mapped);
  page->magic = ring::kMagic;
  page->version = ring::kVersion;
  page->host_model = ring::HostModel::kFixed;
  page->epoch_unix_ns = kEpochNs;
  setenv("EIDOLON_RUN_DIR", folder.c_str(), 1);
  return page;
}

// GoogleTest reads the clock before any test runs, and what a process belongs to is decided then.
ring::ServerPage* const job_page = MakeJob();

TEST(GpuFreeTimeTest, SeesTheJobsClockAndItsOwnSleeps) {
  ring::ServerPage* page = job_page;
  ASSERT_NE(page, nullptr);
  ASSERT_TRUE(InJob());
  EXPECT_GE(ReadNs(CLOCK_REALTIME), kEpochNs);
  EXPECT_LT(ReadNs(CLOCK_REALTIME), kEpochNs + 1'000'000);

  RealTimer timer;
  ::usleep(500'000);
  EXPECT_GE(timer.Seconds(), 0.5);  // Others may time it by real alarms.
  ::sleep(60);
  EXPECT_GE(ReadNs(CLOCK_REALTIME), kEpochNs + 60'500'000'000);
  EXPECT_LT(timer.Seconds(), kSoon);

  // The job's clock stands still; this process must not poll for ever.
  const std::int64_t deadline = ReadNs(CLOCK_MONOTONIC) + 100;
  while (ReadNs(CLOCK_MONOTONIC) <= deadline) {
  }

  // The job's clock leaps; a process without a GPU follows no faster than real time.
  page->job_clock_ps = std::uint64_t{3'600'000'000'000'000};
  const std::int64_t before = ReadNs(CLOCK_MONOTONIC);
  core::RealSleep(20'000'000);
  EXPECT_LT(ReadNs(CLOCK_MONOTONIC) - before, static_cast<std::int64_t>(kSoon) * 1'000'000'000);
}

}  // namespace
}  // namespace eidolon::shim::time
