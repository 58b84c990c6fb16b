#include "shim/gpu/module/module.h"

#include <gtest/gtest.h>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/module/sample.h"

namespace eidolon::shim::gpu {
namespace {

class ModuleTest : public testing::Test {
 protected:
  ModuleTest() {
    core::FakeAgent::Start();
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    EXPECT_EQ(LoadImage(SampleFatBinary().data(), &library_), Status::kSuccess);
  }
  ~ModuleTest() override { library_->Unload(); }

  Library* library_ = nullptr;
};

TEST_F(ModuleTest, FindsKernelsWithTheirResources) {
  Kernel* tile = nullptr;
  ASSERT_EQ(library_->FindKernel("tile", &tile), Status::kSuccess);

  EXPECT_EQ(tile->parameters.size(), 3u);
  EXPECT_EQ(tile->block_threads_max, 256u);
  EXPECT_EQ(tile->row->static_shared_bytes, 4096u);
  EXPECT_EQ(tile->dynamic_shared_max, 49152u - 4096u);
  EXPECT_EQ(LookupKernel(tile), tile);
  EXPECT_EQ(LookupKernelAt(tile), tile);
  const char something_else = 0;
  EXPECT_EQ(LookupKernelAt(&something_else), nullptr);
  Kernel* again = nullptr;
  ASSERT_EQ(library_->FindKernel("tile", &again), Status::kSuccess);
  EXPECT_EQ(again, tile);
  EXPECT_EQ(library_->FindKernel("tiles", &again), Status::kNotFound);
  EXPECT_EQ(library_->Kernels().size(), 4u);
}

TEST_F(ModuleTest, VariablesGetMemoryOnEachDevice) {
  Variable first;
  Variable second;
  ASSERT_EQ(library_->FindVariable("table", 0, &first), Status::kSuccess);
  ASSERT_EQ(library_->FindVariable("table", 1, &second), Status::kSuccess);

  EXPECT_EQ(first.bytes, 256u);
  EXPECT_EQ(DeviceOfAddress(first.address), 0);
  EXPECT_EQ(DeviceOfAddress(second.address), 1);
  EXPECT_EQ(library_->FindVariable("chair", 0, &first), Status::kNotFound);
}

TEST_F(ModuleTest, HandlesDieWithTheirLibrary) {
  Kernel* kernel = nullptr;
  ASSERT_EQ(library_->FindKernel("scale", &kernel), Status::kSuccess);

  library_->Unload();

  EXPECT_EQ(LookupKernel(kernel), nullptr);
  EXPECT_EQ(LookupKernelAt(kernel), nullptr);
  EXPECT_EQ(LookupLibrary(library_), nullptr);
  EXPECT_EQ(library_->FindKernel("scale", &kernel), Status::kInvalidHandle);
}

TEST_F(ModuleTest, RefusesWhatIsNoCode) {
  Library* library = nullptr;
  EXPECT_EQ(LoadImage(nullptr, &library), Status::kInvalidValue);
  EXPECT_EQ(LoadImage("\x01\x02\x03\x04 what is this, then?", &library), Status::kInvalidImage);
  EXPECT_EQ(LoadImage("this is no PTX at all", &library), Status::kInvalidPtx);
  EXPECT_EQ(LoadImage(".target sm_100\n.entry f() { ret; }", &library), Status::kNoBinaryForGpu);
}

TEST_F(ModuleTest, PtxGetsRegistersThatItsBoundsAllow) {
  Library* library = nullptr;
  ASSERT_EQ(LoadImage(".target sm_80 .entry a() { ret; } .entry b() .maxntid 1024 { ret; }"
                      ".entry c() .reqntid 512 { ret; }",
                      &library),
            Status::kSuccess);

  for (const Kernel* kernel : library->Kernels()) {
    EXPECT_EQ(kernel->registers, 64u) << kernel->name;
    EXPECT_EQ(kernel->block_threads_max, kernel->name == "c" ? 512u : 1024u) << kernel->name;
  }
}

}  // namespace
}  // namespace eidolon::shim::gpu
