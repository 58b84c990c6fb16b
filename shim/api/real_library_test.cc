#include "shim/api/real_library.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <string>

namespace eidolon::shim::api {
namespace {

namespace fs = std::filesystem;

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

// Packages of which one is loaded; libraries are copies of libm under other names.
class WheelsTest : public ::testing::Test {
 protected:
  WheelsTest() {
    std::string name = (fs::temp_directory_path() / "eidolon-wheels-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    Add("program/extension.so");
    extension_ = dlopen((Packages() / "program/extension.so").c_str(), RTLD_LAZY | RTLD_LOCAL);
    EXPECT_NE(extension_, nullptr) << dlerror();
  }
  ~WheelsTest() override {
    dlclose(extension_);
    fs::remove_all(folder_);
  }

  fs::path Packages() const { return folder_ / "site-packages"; }
  void Add(const std::string& file) {
    Dl_info libm;
    ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &libm), 0);
    fs::create_directories((Packages() / file).parent_path());
    fs::copy_file(libm.dli_fname, Packages() / file);
  }
  bool IsLoaded(const std::string& file) const {
    void* handle = dlopen((Packages() / file).c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) dlclose(handle);
    return handle != nullptr;
  }

 private:
  fs::path folder_;
  void* extension_ = nullptr;
};

TEST_F(WheelsTest, ALibraryIsFoundBesideALoadedPackage) {
  Add("nvidia/cu13/lib/libeidolon_real.so.13");
  RealLibrary real("libeidolon_real.so.13", "libabsent.so.12");
  void* const found = real.Find("cos");

  Dl_info from;
  ASSERT_NE(found, nullptr);
  ASSERT_NE(dladdr(found, &from), 0);
  EXPECT_NE(std::string(from.dli_fname).find("nvidia/cu13/lib"), std::string::npos);
}

TEST_F(WheelsTest, ALibraryBringsThoseThatItLoadsByABareName) {
  Add("nvidia/cu13/lib/libeidolon_owner.so.13");
  Add("nvidia/cu13/lib/libeidolon_owner-builtins.so.13.0");
  Add("nvidia/cu13/lib/libeidolon_owner-builtins.alt.so.13.0");
  RealLibrary real("libeidolon_owner.so.13", "libabsent.so.12", "libeidolon_owner-builtins.so.");

  EXPECT_FALSE(IsLoaded("nvidia/cu13/lib/libeidolon_owner-builtins.so.13.0"));
  ASSERT_NE(real.Find("cos"), nullptr);

  EXPECT_TRUE(IsLoaded("nvidia/cu13/lib/libeidolon_owner-builtins.so.13.0"));
  EXPECT_FALSE(IsLoaded("nvidia/cu13/lib/libeidolon_owner-builtins.alt.so.13.0"));
}

}  // namespace
}  // namespace eidolon::shim::api
