// Which kernels of the stock PyTorch library and of Transformer Engine have a family: testdata
// lists them by function. EIDOLON_UPDATE_GOLDEN=1 rewrites the lists.
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
#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/mapped_library.h"
#include "services/timing/kernel/recognise.h"
#include "source_tree.h"

namespace eidolon::timing::kernel {
namespace {

constexpr char kFolder[] = EIDOLON_SOURCE_DIR "/services/timing/kernel/testdata/";

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
std::string ListOf(std::string_view library, const std::set<std::string>& kernels) {
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
      base::StrCat("# ", library, " for compute capability 9.0: ", kernels.size(), " kernels, ",
                   share, " % with a family\nfamily,function,kernels\n");
  for (const auto& [function, count] : functions) {
    list += base::StrCat(function.first, ",", function.second, ",", count, "\n");
  }
  return list;
}

// The checked-in list of that name is `list`.
void ExpectUpToDate(const std::string& name, const std::string& list) {
  if (std::getenv("EIDOLON_UPDATE_GOLDEN") != nullptr) std::ofstream(kFolder + name) << list;
  std::ostringstream checked_in;
  checked_in << std::ifstream(kFolder + name).rdbuf();
  EXPECT_EQ(list, checked_in.str()) << "EIDOLON_UPDATE_GOLDEN=1 writes it";
}

TEST(RecogniseTorchTest, TheListOfTheStockLibrarysKernelsIsUpToDate) {
  ExpectUpToDate("torch_kernels.csv",
                 ListOf("libtorch_cuda of torch 2.15", KernelsOf(EIDOLON_TORCH_LIBRARY)));
}

TEST(RecogniseTorchTest, TheListOfTransformerEnginesKernelsIsUpToDate) {
  const char* path = std::getenv("EIDOLON_TRANSFORMER_ENGINE_LIBRARY");
  if (path == nullptr) GTEST_SKIP() << "EIDOLON_TRANSFORMER_ENGINE_LIBRARY names no library";
  ExpectUpToDate("transformer_engine_kernels.csv",
                 ListOf("libtransformer_engine of 2.20.2", KernelsOf(path)));
}

}  // namespace
}  // namespace eidolon::timing::kernel
