// Every kernel of the stock PyTorch library has a family: testdata/torch_kernels.csv lists them by
// function. EIDOLON_UPDATE_GOLDEN=1 rewrites the list.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "services/base/text.h"
#include "services/cubin/image.h"
#include "services/cubin/mapped_library.h"
#include "services/timing/kernel/recognise.h"

namespace eidolon::timing::kernel {
namespace {

constexpr char kList[] = EIDOLON_SOURCE_DIR "/services/timing/kernel/testdata/torch_kernels.csv";

std::set<std::string> KernelsOf(const char* path) {
  const cubin::MappedLibrary library(path);
  const cubin::IndexCache no_cache("");
  std::set<std::string> names;
  for (const std::byte* container : library.Containers()) {
    const auto loaded = no_cache.Load(*cubin::FindImage(container), {9, 0});
    if (!loaded) continue;  // Code of other architectures only.
    const cubin::Index& index = (*loaded)->index();
    for (const auto& row : index.functions()) names.emplace(index.NameOf(row));
  }
  return names;
}

// Functions by family and name without template arguments, and how many kernels each has.
std::string ListOf(const std::set<std::string>& kernels) {
  std::map<std::pair<std::string, std::string>, int> functions;
  int unknown = 0;
  for (const std::string& kernel : kernels) {
    const KernelName name = ParseKernelName(kernel);
    const Family family = FamilyOf(name);
    unknown += family == Family::kUnknown ? 1 : 0;
    std::string base = name.base.substr(0, 80);
    std::replace(base.begin(), base.end(), ',', ' ');
    ++functions[{std::string(Name(family)), base}];
  }
  const auto known = static_cast<double>(kernels.size() - static_cast<std::size_t>(unknown));
  char share[32];
  std::snprintf(share, sizeof(share), "%.3f", 100 * known / static_cast<double>(kernels.size()));
  std::string list =
      base::StrCat("# libtorch_cuda of torch 2.15 for compute capability 9.0: ", kernels.size(),
                   " kernels, ", share, " % with a family\nfamily,function,kernels\n");
  for (const auto& [function, count] : functions) {
    list += base::StrCat(function.first, ",", function.second, ",", count, "\n");
  }
  return list;
}

TEST(RecogniseTorchTest, TheListOfTheStockLibrarysKernelsIsUpToDate) {
  const std::string list = ListOf(KernelsOf(EIDOLON_TORCH_LIBRARY));
  if (std::getenv("EIDOLON_UPDATE_GOLDEN") != nullptr) std::ofstream(kList) << list;

  std::ostringstream checked_in;
  checked_in << std::ifstream(kList).rdbuf();

  EXPECT_EQ(list, checked_in.str()) << "EIDOLON_UPDATE_GOLDEN=1 writes it";
}

}  // namespace
}  // namespace eidolon::timing::kernel
