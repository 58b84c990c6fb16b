// Every container of the stock PyTorch library, where the wheel is installed.
#include <gtest/gtest.h>

#include <filesystem>

#include "services/base/clock.h"
#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/mapped_library.h"

namespace eidolon::cubin {
namespace {

TEST(CubinTorchTest, IndexesEveryContainerAndIsQuickTheSecondTime) {
  const MappedLibrary library(EIDOLON_TORCH_LIBRARY);
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
