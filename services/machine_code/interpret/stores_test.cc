#include "services/machine_code/interpret/stores.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "source_tree.h"

namespace eidolon::interpret {
namespace {

// A kernel of services/machine_code/cubin/testdata/stores.ptx.
Program LoadKernel(const std::string& name, const std::string& cubin) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + cubin,
      std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  const auto code = cubin::ParseCubin(bytes);
  const auto sections = cubin::ParseProgram(bytes);
  Program program;
  program.dialect = *sass::DialectOf(code->target.architecture);
  for (const cubin::Function& function : code->functions) {
    if (function.name == name) program.parameter_base = function.parameter_base;
  }
  const auto section = sections->sections[*sections->FindSection(".text." + name)];
  const auto done = Translate(section.content, program);
  EXPECT_TRUE(done) << done.error().message;
  return program;
}

// Tests run for each compiled file.
class StoresTest : public testing::TestWithParam<const char*> {
 protected:
  static Program Load(const std::string& name) { return LoadKernel(name, GetParam()); }

  // The only store of a kernel with `count` parameters, all of them pointers.
  static StoreSite OnlyStore(const std::string& name, unsigned count) {
    std::vector<std::uint32_t> pointers;
    for (unsigned i = 0; i < count; ++i) pointers.push_back(8 * i);
    const std::vector<StoreSite> sites = FindStores(Load(name), pointers);
    EXPECT_EQ(sites.size(), 1u) << name;
    return sites.empty() ? StoreSite{} : sites.front();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, StoresTest,
                         testing::Values("stores.cubin", "stores_80.cubin", "stores_100.cubin"));

TEST_P(StoresTest, AnAddressThatWasReadFromMemoryMayBeAnywhere) {
  const StoreSite site = OnlyStore("through_table", 1);

  EXPECT_TRUE(site.escapes);
  EXPECT_TRUE(site.moves);
}

TEST_P(StoresTest, AnIndexFromMemoryStaysWithItsPointer) {
  const StoreSite site = OnlyStore("scatter", 2);

  EXPECT_FALSE(site.escapes);
  EXPECT_TRUE(site.moves);
  EXPECT_EQ(site.pointers, 1u);
}

TEST_P(StoresTest, AParameterThatIsNoPointerMakesNoAddress) {
  const std::vector<std::uint32_t> only_index = {8};
  const std::vector<StoreSite> sites = FindStores(Load("scatter"), only_index);

  ASSERT_EQ(sites.size(), 1u);
  EXPECT_TRUE(sites.front().escapes);
}

TEST_P(StoresTest, AGuardThatValuesDecideIsToldFromOneThatTheyDoNot) {
  const std::vector<std::uint32_t> pointers = {0, 8, 16};
  const std::vector<StoreSite> sites = FindStores(Load("mark"), pointers);

  ASSERT_EQ(sites.size(), 2u);
  const bool first_is_out = sites[0].pointers == 2;
  const StoreSite& out = sites[first_is_out ? 0 : 1];
  const StoreSite& flag = sites[first_is_out ? 1 : 0];
  EXPECT_EQ(out.pointers, 2u);
  EXPECT_FALSE(out.depends || out.moves || out.escapes);
  EXPECT_EQ(flag.pointers, 4u);
  EXPECT_TRUE(flag.depends);
  EXPECT_FALSE(flag.moves || flag.escapes);
}

TEST_P(StoresTest, WaysThatMeetAgainDecideNothingBehindThem) {
  const StoreSite site = OnlyStore("divide", 3);

  EXPECT_EQ(site.pointers, 4u);
  EXPECT_FALSE(site.depends || site.moves || site.escapes || site.no_pointer);
}

TEST_P(StoresTest, AVariableOfTheModuleComesFromNoPointer) {
  const StoreSite site = OnlyStore("count", 1);

  EXPECT_TRUE(site.no_pointer);
  EXPECT_FALSE(site.escapes);
  EXPECT_EQ(site.pointers, 0u);
}

TEST_P(StoresTest, AnAddressThatALoopMovesAsOftenAsValuesSayMovesWithThem) {
  for (const StoreSite& site : FindStores(Load("rounds"), std::vector<std::uint32_t>{0, 8})) {
    EXPECT_TRUE(site.moves);
    EXPECT_FALSE(site.escapes);
    EXPECT_EQ(site.pointers, 2u);
  }
}

}  // namespace
}  // namespace eidolon::interpret
