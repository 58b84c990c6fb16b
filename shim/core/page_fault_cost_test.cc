#include "shim/core/page_fault_cost.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstddef>

#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

TEST(PageFaultCostTest, AFaultCostsMoreThanAMemoryAccessAndLessThanADisk) {
  const std::uint64_t ps = MeasurePageFaultPs();

  EXPECT_GT(ps, 20'000u);
  EXPECT_LT(ps, 100'000'000u);
}

TEST(PageFaultCostTest, TheCallingThreadsFaultsAreCounted) {
  constexpr std::size_t kPages = 300, kPageBytes = 4096;
  void* const memory = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
  const std::uint64_t before = ThreadPageFaults();
  for (std::size_t page = 0; page < kPages; ++page) {
    static_cast<volatile std::byte*>(memory)[page * kPageBytes] = std::byte{1};
  }

  EXPECT_GE(ThreadPageFaults() - before, kPages);
  munmap(memory, kPages * kPageBytes);
}

}  // namespace
}  // namespace eidolon::shim::core
