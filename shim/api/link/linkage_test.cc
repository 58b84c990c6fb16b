#include "shim/api/link/linkage.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/program.h"
#include "source_tree.h"

// The stock linker forgets memory of its own where a linkage fails.
extern "C" const char* __lsan_default_suppressions() { return "leak:libnvJitLink"; }  // NOLINT

namespace eidolon::shim::link {
namespace {

constexpr cubin::Capability kDevice = {9, 0};

constexpr std::string_view kCalls =
    ".version 8.8\n.target sm_80\n.address_size 64\n.extern .func other();\n"
    ".visible .entry calls() { call.uni other; ret; }\n";
constexpr std::string_view kCalled =
    ".version 8.8\n.target sm_80\n.address_size 64\n.visible .func other() { ret; }\n";

std::span<const std::byte> BytesOf(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string ReadFile(const std::string& name) {
  std::ifstream file(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class LinkageTest : public testing::Test {
 protected:
  void SetUp() override {
    dlopen(EIDOLON_STOCK_LINKER,
           RTLD_LAZY | RTLD_LOCAL);  // Its folder is where others are looked for.
    if (!IsThere()) GTEST_SKIP() << kMissing;
  }
};

TEST_F(LinkageTest, ModulesCallEachOthersFunctions) {
  Linkage linkage(kDevice, {});
  ASSERT_EQ(linkage.Add(Input::kPtx, BytesOf(kCalls), "calls"), Outcome::kDone);
  ASSERT_EQ(linkage.Add(Input::kPtx, BytesOf(kCalled), "called"), Outcome::kDone);
  ASSERT_EQ(linkage.Complete(), Outcome::kDone) << linkage.errors();

  const auto made = cubin::ParseCubin(linkage.code());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->target.architecture, 90u);
  EXPECT_TRUE(cubin::ParseProgram(linkage.code())->FindSection(".text.calls"));
}

TEST_F(LinkageTest, AFunctionThatNobodyHasIsNamed) {
  Linkage linkage(kDevice, {});
  ASSERT_EQ(linkage.Add(Input::kPtx, BytesOf(kCalls), "calls"), Outcome::kDone);

  EXPECT_EQ(linkage.Complete(), Outcome::kInvalid);
  EXPECT_NE(linkage.errors().find("'other'"), std::string::npos) << linkage.errors();
}

TEST_F(LinkageTest, WrongPtxIsRefusedWithItsLine) {
  std::string wrong(kCalled);
  wrong.replace(wrong.find("ret;"), 4, "rat;");
  Linkage linkage(kDevice, {});

  EXPECT_EQ(linkage.Add(Input::kPtx, BytesOf(wrong), "wrong"), Outcome::kInvalid);
  EXPECT_NE(linkage.errors().find("line 4"), std::string::npos) << linkage.errors();
}

TEST_F(LinkageTest, CodeThatIsLinkedAlreadyStaysAsItIs) {
  const std::string cubin = ReadFile("ways_90.cubin");
  Linkage alone(kDevice, {});
  ASSERT_EQ(alone.Add(Input::kCubin, BytesOf(cubin), "ways"), Outcome::kDone);
  ASSERT_EQ(alone.Complete(), Outcome::kDone);
  EXPECT_TRUE(std::ranges::equal(alone.code(), BytesOf(cubin)));

  Linkage beside(kDevice, {});
  ASSERT_EQ(beside.Add(Input::kPtx, BytesOf(kCalled), "called"), Outcome::kDone);
  ASSERT_EQ(beside.Add(Input::kCubin, BytesOf(cubin), "ways"), Outcome::kDone);
  EXPECT_EQ(beside.Complete(), Outcome::kInvalid);
  EXPECT_NE(beside.errors().find("relocatable"), std::string::npos);
}

TEST_F(LinkageTest, CodeForOneArchitectureMayUseWhatOnlyThatHas) {
  const std::string ptx =
      ".version 8.8\n.target sm_90a\n.address_size 64\n"
      ".visible .entry waits() { wgmma.fence.sync.aligned; ret; }\n";
  Linkage linkage(kDevice, {});

  EXPECT_EQ(linkage.Add(Input::kPtx, BytesOf(ptx), "waits"), Outcome::kDone) << linkage.errors();
  EXPECT_EQ(linkage.Complete(), Outcome::kDone) << linkage.errors();
}

TEST_F(LinkageTest, TheProgramsLimitOfRegistersHolds) {
  const std::string ptx = ReadFile("ways.ptx");
  Linkage linkage(kDevice, {.registers_max = 16});
  ASSERT_EQ(linkage.Add(Input::kPtx, BytesOf(ptx), "ways"), Outcome::kDone) << linkage.errors();
  ASSERT_EQ(linkage.Complete(), Outcome::kDone) << linkage.errors();

  for (const cubin::Function& function : cubin::ParseCubin(linkage.code())->functions) {
    EXPECT_LE(function.registers, 16u) << function.name;
  }
}

}  // namespace
}  // namespace eidolon::shim::link
