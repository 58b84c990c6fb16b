// Marks what a real GPU does and the shim does not yet.
//
//   TODO_EMULATED(ArrayTest, HoldsTexels, "texture memory is refused") { EXPECT_EQ(...); }
//
// is a test like any other on a real GPU. On the shim its body has to fail: one that succeeds fails
// the test, because the mark is then to be removed. gtest alone, so that probes stay foreign.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace eidolon::probe {

inline bool OnShim() { return dlopen("libeidolon_shim.so", RTLD_LAZY | RTLD_NOLOAD) != nullptr; }

inline void RunTodo(void (*body)(), const char* reason) {
  if (!OnShim()) return body();
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter intercept(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    body();
  }
  for (int i = 0; i < results.size(); ++i) {
    if (!results.GetTestPartResult(i).failed()) continue;
    std::printf("not emulated: %s\n%s\n", reason, results.GetTestPartResult(i).message());
    return;
  }
  ADD_FAILURE() << "this is emulated now, so that it is an ordinary TEST: " << reason;
}

}  // namespace eidolon::probe

#define TODO_EMULATED(suite, name, reason)                                        \
  static void suite##_##name##_Body();                                            \
  TEST(suite, name) { eidolon::probe::RunTodo(suite##_##name##_Body, (reason)); } \
  static void suite##_##name##_Body()
