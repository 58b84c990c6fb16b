#include "shim/value/zeros.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <vector>

namespace eidolon::shim::value {
namespace {

constexpr std::size_t kBytes = 4 * kZeroPagesFrom;
constexpr unsigned char kOld = 0xee;

// Memory of its own, full of kOld; given back at the end.
class Mapping {
 public:
  Mapping(int flags, int file) {
    void* const got = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0);
    if (got == MAP_FAILED) return;
    bytes_ = {static_cast<unsigned char*>(got), kBytes};
    std::ranges::fill(bytes_, kOld);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(bytes_.data(), bytes_.size()); }
  std::span<unsigned char> bytes() const { return bytes_; }

 private:
  std::span<unsigned char> bytes_;
};

std::size_t ResidentPages(std::span<unsigned char> bytes) {
  std::vector<unsigned char> pages(bytes.size() / static_cast<std::size_t>(getpagesize()));
  EXPECT_EQ(mincore(bytes.data(), bytes.size(), pages.data()), 0);
  return static_cast<std::size_t>(std::ranges::count_if(pages, [](auto x) { return x & 1; }));
}

// Fills all but some bytes at both ends, and looks at every byte.
void ExpectZerosWithin(std::span<unsigned char> bytes, std::size_t from, std::size_t to) {
  FillUnknown(bytes.data() + from, to - from, 0);
  EXPECT_EQ(std::ranges::count(bytes.first(from), kOld), static_cast<std::ptrdiff_t>(from));
  EXPECT_EQ(std::ranges::count(bytes.subspan(from, to - from), 0),
            static_cast<std::ptrdiff_t>(to - from));
  EXPECT_EQ(std::ranges::count(bytes.subspan(to), kOld),
            static_cast<std::ptrdiff_t>(bytes.size() - to));
}

TEST(ZerosTest, ManyZerosInPrivateMemoryTakeNoMemory) {
  const Mapping mapping(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  ASSERT_EQ(mapping.bytes().size(), kBytes);
  FillUnknown(mapping.bytes().data() + 100, kBytes - 200, 0);
  EXPECT_LE(ResidentPages(mapping.bytes()), 2u)
      << "the first and the last page are written in part";
  ExpectZerosWithin(mapping.bytes(), 100, kBytes - 100);
}

TEST(ZerosTest, SharedMemoryAndFilesAreWritten) {
  const int file = memfd_create("zeros", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  const Mapping shared(MAP_SHARED, file);
  ASSERT_EQ(shared.bytes().size(), kBytes);
  ExpectZerosWithin(shared.bytes(), 5000, kBytes - 1);
  std::ranges::fill(shared.bytes(), kOld);
  const Mapping copied(MAP_PRIVATE, file);
  ASSERT_EQ(copied.bytes().size(), kBytes);
  ExpectZerosWithin(copied.bytes(), 0, kBytes);
  close(file);
}

TEST(ZerosTest, FewZerosAndOtherValuesAreWritten) {
  const Mapping mapping(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  ASSERT_EQ(mapping.bytes().size(), kBytes);
  ExpectZerosWithin(mapping.bytes(), 3, 9000);
  FillUnknown(mapping.bytes().data(), kBytes, 0xff);
  EXPECT_EQ(std::ranges::count(mapping.bytes(), 0xff), static_cast<std::ptrdiff_t>(kBytes));
}

TEST(ZerosTest, ErrnoStaysWhatItWas) {
  const int file = memfd_create("zeros", 0);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  const Mapping shared(MAP_SHARED, file);
  ASSERT_EQ(shared.bytes().size(), kBytes);
  errno = ENOENT;
  FillUnknown(shared.bytes().data(), kBytes, 0);
  EXPECT_EQ(errno, ENOENT);
  close(file);
}

}  // namespace
}  // namespace eidolon::shim::value
