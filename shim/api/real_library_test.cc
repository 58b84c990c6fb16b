#include "shim/api/real_library.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <string>

namespace eidolon::shim::api {
namespace {

TEST(RealLibraryTest, IsTheOneThatALoadedObjectNeeds) {
  EXPECT_TRUE(IsNeeded("libc.so.6"));
  EXPECT_FALSE(IsNeeded("libc.so"));
  EXPECT_FALSE(IsNeeded("libnvrtc.so.12"));
}

TEST(RealLibraryTest, TakesTheNewerNameWhereNothingNeedsCuda12) {
  RealLibrary newer("libc.so.6", "libabsent.so.12");
  RealLibrary older("libabsent.so.13", "libc.so.6");

  EXPECT_NE(newer.Find("strtod"), nullptr);
  EXPECT_EQ(older.Find("strtod"), nullptr);
}

TEST(RealLibraryTest, MissesAFunctionRatherThanFails) {
  RealLibrary none("libabsent.so.13", "libabsent.so.12");

  EXPECT_EQ(none.Find("strtod"), nullptr);
}

TEST(RealLibraryTest, IsFoundInTheWheelsBesideALoadedPackage) {
  namespace fs = std::filesystem;
  std::string name = (fs::temp_directory_path() / "eidolon-wheels-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  const fs::path packages = fs::path(name) / "site-packages";
  Dl_info libm;
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &libm), 0);
  fs::create_directories(packages / "program");
  fs::create_directories(packages / "nvidia/cu13/lib");
  fs::copy_file(libm.dli_fname, packages / "program/extension.so");
  fs::copy_file(libm.dli_fname, packages / "nvidia/cu13/lib/libeidolon_real.so.13");
  void* extension = dlopen((packages / "program/extension.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(extension, nullptr) << dlerror();

  RealLibrary real("libeidolon_real.so.13", "libabsent.so.12");
  void* const found = real.Find("cos");

  Dl_info from;
  ASSERT_NE(found, nullptr);
  ASSERT_NE(dladdr(found, &from), 0);
  EXPECT_NE(std::string(from.dli_fname).find("nvidia/cu13/lib"), std::string::npos);
  dlclose(extension);
  fs::remove_all(name);
}

}  // namespace
}  // namespace eidolon::shim::api
