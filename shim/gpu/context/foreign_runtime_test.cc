#include "shim/gpu/context/foreign_runtime.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"

namespace eidolon::shim::gpu {
namespace {

namespace fs = std::filesystem;

// Loads some library under the name of another CUDA version's runtime.
class ForeignRuntimeTest : public ::testing::Test {
 protected:
  ForeignRuntimeTest() {
    char pattern[] = "/tmp/eidolon-foreign-XXXXXX";
    folder_ = mkdtemp(pattern);
    fs::copy_file("/lib/x86_64-linux-gnu/libutil.so.1", folder_ / "libcudart.so.11");
    handle_ = dlopen((folder_ / "libcudart.so.11").c_str(), RTLD_NOW);
  }
  ~ForeignRuntimeTest() override {
    if (handle_ != nullptr) dlclose(handle_);
    fs::remove_all(folder_);
  }

  fs::path folder_;
  void* handle_ = nullptr;
};

TEST_F(ForeignRuntimeTest, RefusesTheProgramWithAReasonThatNamesItsRuntime) {
  ASSERT_NE(handle_, nullptr);
  core::FakeAgent& agent = core::FakeAgent::Start();

  EXPECT_EQ(Initialize(), Status::kSystemDriverMismatch);

  const auto refused = agent.RecordsOf(ring::RecordKind::kRefusedCall);
  ASSERT_EQ(refused.size(), 1u);
  const auto& mark = refused[0].As<ring::MarkRecord>();
  const auto* name = reinterpret_cast<const char*>(refused[0].bytes.data() + sizeof(mark));
  EXPECT_THAT(std::string(name, mark.name_bytes),
              ::testing::HasSubstr("libcudart.so.11 (a program built for CUDA 11"));
}

}  // namespace
}  // namespace eidolon::shim::gpu
