// Compiling and linking on behalf of the driver, with the stock linker.
#include "shim/vendor/cuda_driver/jit.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "shim/core/fake_agent.h"
#include "shim/gpu/context/context.h"
#include "shim/vendor/cuda_driver/function.h"
#include "shim/vendor/cuda_driver/module.h"

namespace eidolon::shim::cuda_driver {
namespace {

char kCalls[] =
    ".version 8.8\n.target sm_80\n.address_size 64\n.extern .func other();\n"
    ".visible .entry calls() { call.uni other; ret; }\n";
char kCalled[] =
    ".version 8.8\n.target sm_80\n.address_size 64\n.visible .func other() { ret; }\n"
    ".visible .entry bounded() .maxntid 64 { ret; }\n";
char kWrong[] = ".version 8.8\n.target sm_80\n.address_size 64\n.visible .entry f() { rat; }\n";

class JitTest : public testing::Test {
 protected:
  JitTest() {
    core::FakeAgent::Start().Reset();
    EXPECT_EQ(gpu::SetDevice(0), gpu::Status::kSuccess);
  }
  void SetUp() override {
    dlopen(EIDOLON_STOCK_LINKER,
           RTLD_LAZY | RTLD_LOCAL);  // Its folder is where others are looked for.
    if (!link::IsThere()) GTEST_SKIP() << link::kMissing;
  }

  static CUresult Add(CUlinkState state, char* text) {
    return jit::AddData(state, CU_JIT_INPUT_PTX, text, std::strlen(text) + 1, "module", 0, nullptr,
                        nullptr);
  }
};

TEST_F(JitTest, WhatIsLinkedIsLoadedAsAModule) {
  CUlinkState state = nullptr;
  ASSERT_EQ(jit::Create(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  ASSERT_EQ(Add(state, kCalls), CUDA_SUCCESS);
  ASSERT_EQ(Add(state, kCalled), CUDA_SUCCESS);
  void* code = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(jit::Complete(state, &code, &bytes), CUDA_SUCCESS);
  EXPECT_GT(bytes, 1000u);
  CUmodule module = nullptr;
  ASSERT_EQ(module::LoadData(&module, code), CUDA_SUCCESS);
  EXPECT_EQ(jit::Destroy(state), CUDA_SUCCESS);
  EXPECT_EQ(jit::Destroy(state), CUDA_ERROR_INVALID_HANDLE);

  CUfunction function = nullptr;
  EXPECT_EQ(module::GetFunction(&function, module, "calls"), CUDA_SUCCESS);
  EXPECT_EQ(module::Unload(module), CUDA_SUCCESS);
}

TEST_F(JitTest, ErrorsComeBackInTheProgramsBuffer) {
  char errors[200] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, reinterpret_cast<void*>(sizeof(errors))};
  CUlinkState state = nullptr;
  ASSERT_EQ(jit::Create(2, options, values, &state), CUDA_SUCCESS);
  values[1] = reinterpret_cast<void*>(sizeof(errors));
  EXPECT_EQ(Add(state, kWrong), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(errors).find("line 4"), std::string::npos) << errors;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(values[1]), std::strlen(errors));
  EXPECT_EQ(jit::Destroy(state), CUDA_SUCCESS);

  CUmodule module = nullptr;
  values[1] = reinterpret_cast<void*>(sizeof(errors));
  EXPECT_EQ(module::LoadDataEx(&module, kWrong, 2, options, values), CUDA_ERROR_INVALID_PTX);
  EXPECT_NE(std::string(errors).find("line 4"), std::string::npos) << errors;
}

TEST_F(JitTest, AModuleOfPtxHasTheRegistersOfItsCode) {
  CUmodule module = nullptr;
  ASSERT_EQ(module::LoadData(&module, kCalled), CUDA_SUCCESS);
  CUfunction function = nullptr;
  ASSERT_EQ(module::GetFunction(&function, module, "bounded"), CUDA_SUCCESS);
  int registers = 0;
  EXPECT_EQ(function::GetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_SUCCESS);
  EXPECT_LT(registers, 32);  // Not what is assumed of text.
  EXPECT_EQ(module::Unload(module), CUDA_SUCCESS);
}

TEST_F(JitTest, WhatIsNoLinkageIsRefused) {
  CUlinkState state = nullptr;
  EXPECT_EQ(jit::Create(1, nullptr, nullptr, &state), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(jit::Create(0, nullptr, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Add(nullptr, kCalled), CUDA_ERROR_INVALID_HANDLE);
  ASSERT_EQ(jit::Create(0, nullptr, nullptr, &state), CUDA_SUCCESS);
  EXPECT_EQ(jit::AddData(state, CU_JIT_INPUT_NVVM, kCalled, 5, nullptr, 0, nullptr, nullptr),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(jit::AddFile(state, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, nullptr, nullptr),
            CUDA_ERROR_FILE_NOT_FOUND);
  EXPECT_EQ(jit::Destroy(state), CUDA_SUCCESS);
}

}  // namespace
}  // namespace eidolon::shim::cuda_driver
