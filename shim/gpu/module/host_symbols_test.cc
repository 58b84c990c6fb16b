#include "shim/gpu/module/host_symbols.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/module/sample.h"

namespace eidolon::shim::gpu {
namespace {

class HostSymbolsTest : public testing::Test {
 protected:
  HostSymbolsTest() {
    core::FakeAgent::Start();
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
  }

  // Stands for host functions and variables: only the addresses matter.
  char host_[8] = {};
  SampleWrapper wrapper_;
};

TEST_F(HostSymbolsTest, AddressesLeadToKernelsAndVariables) {
  Library* binary = RegisterBinary(&wrapper_);
  RegisterKernel(binary, &host_[0], "scale");
  RegisterKernel(binary, &host_[1], "no_such_kernel");
  RegisterVariable(binary, &host_[2], "factors");

  Kernel* kernel = nullptr;
  Variable variable;
  EXPECT_EQ(FindHostKernel(&host_[0], &kernel), Status::kSuccess);
  EXPECT_EQ(kernel->name, "scale");
  EXPECT_EQ(FindHostKernel(&host_[1], &kernel), Status::kNotFound);
  EXPECT_EQ(FindHostKernel(&host_[2], &kernel), Status::kNotFound);
  EXPECT_EQ(FindHostVariable(&host_[2], 0, &variable), Status::kSuccess);
  EXPECT_EQ(variable.bytes, 16u);

  UnregisterBinary(binary);
  EXPECT_EQ(FindHostKernel(&host_[0], &kernel), Status::kNotFound);
}

TEST_F(HostSymbolsTest, AnAddressMayComeBackForSomethingElse) {
  Library* first = RegisterBinary(&wrapper_);
  RegisterKernel(first, &host_[0], "scale");
  Kernel* kernel = nullptr;
  ASSERT_EQ(FindHostKernel(&host_[0], &kernel), Status::kSuccess);
  UnregisterBinary(first);

  Library* second = RegisterBinary(&wrapper_);
  RegisterKernel(second, &host_[0], "tile");

  ASSERT_EQ(FindHostKernel(&host_[0], &kernel), Status::kSuccess);
  EXPECT_EQ(kernel->name, "tile");
  UnregisterBinary(second);
}

TEST_F(HostSymbolsTest, HoldsAsManyAsPyTorchHas) {
  std::vector<char> hosts(30'000);
  Library* binary = RegisterBinary(&wrapper_);
  for (const char& host : hosts) RegisterKernel(binary, &host, "nothing");

  Kernel* first = nullptr;
  ASSERT_EQ(FindHostKernel(&hosts.front(), &first), Status::kSuccess);
  for (const char& host : hosts) {
    Kernel* kernel = nullptr;
    ASSERT_EQ(FindHostKernel(&host, &kernel), Status::kSuccess);
    ASSERT_EQ(kernel, first);
  }
  UnregisterBinary(binary);
}

}  // namespace
}  // namespace eidolon::shim::gpu
