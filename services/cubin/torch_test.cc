// Every container of the stock PyTorch library, where the wheel is installed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "services/base/clock.h"
#include "services/cubin/image.h"

namespace eidolon::cubin {
namespace {

// The library mapped read only, as the dynamic linker would.
class MappedLibrary {
 public:
  MappedLibrary() {
    const int file = open(EIDOLON_TORCH_LIBRARY, O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    fstat(file, &status);
    size_ = static_cast<std::size_t>(status.st_size);
    base_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
  }
  ~MappedLibrary() { munmap(base_, size_); }

  // The containers lie one after another, each aligned to 8 bytes.
  std::vector<const std::byte*> Containers() const {
    std::vector<const std::byte*> found;
    const auto* at = static_cast<const std::byte*>(base_);
    const auto* end = at + size_;
    const std::uint32_t magic = kFatBinaryMagic;
    while (at + 16 < end) {
      at = static_cast<const std::byte*>(
          memmem(at, static_cast<std::size_t>(end - at), &magic, sizeof(magic)));
      if (at == nullptr) break;
      const auto size = FatBinaryBytes(at);
      if (reinterpret_cast<std::uintptr_t>(at) % 8 == 0 && size && at + *size <= end &&
          FatBinary::Parse({at, *size})) {
        found.push_back(at);
        at += *size;
      } else {
        at += sizeof(magic);
      }
    }
    return found;
  }

 private:
  void* base_ = nullptr;
  std::size_t size_ = 0;
};

TEST(CubinTorchTest, IndexesEveryContainerAndIsQuickTheSecondTime) {
  const MappedLibrary library;
  const auto containers = library.Containers();
  EXPECT_GT(containers.size(), 400u);
  const std::string folder = testing::TempDir() + "/cubin-torch-index";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const IndexCache cache(folder);
  const base::SystemClock clock;

  std::size_t kernels = 0;
  std::size_t parameters = 0;
  std::vector<std::unique_ptr<LoadedIndex>> kept;
  for (int pass = 0; pass < 2; ++pass) {
    kernels = parameters = 0;
    kept.clear();
    const auto begin = clock.MonotonicNs();
    for (const std::byte* container : containers) {
      auto loaded = cache.Load(*FindImage(container), {9, 0});
      if (!loaded && loaded.error().code == base::ErrorCode::kNotFound) continue;
      ASSERT_TRUE(loaded) << loaded.error().message;
      EXPECT_EQ((*loaded)->from_cache(), pass == 1);
      kernels += (*loaded)->index().functions().size();
      for (const FunctionRow& row : (*loaded)->index().functions()) parameters += row.parameters;
      kept.push_back(std::move(*loaded));
    }
    const double milliseconds = static_cast<double>(clock.MonotonicNs() - begin) * 1e-6;
    std::printf("pass %d: %zu containers, %zu loaded, %zu kernels, %zu parameters, %.1f ms\n", pass,
                containers.size(), kept.size(), kernels, parameters, milliseconds);
  }
  std::filesystem::remove_all(folder);

  // Some containers hold code of one other architecture only.
  EXPECT_GT(kept.size(), 450u);
  EXPECT_GT(kernels, 20'000u);
  EXPECT_GT(parameters, kernels);
}

}  // namespace
}  // namespace eidolon::cubin
