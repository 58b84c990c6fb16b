#include "services/cli/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/opensslv.h>

#include <set>
#include <string>

namespace eidolon::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

std::string VersionOf(const std::string& name) {
  for (const LinkedLibrary& library : LinkedLibraries()) {
    if (library.name == name) return library.version;
  }
  return "no row";
}

TEST(VersionsTest, EveryLibraryHasOneRowAndANumberOrNone) {
  std::set<std::string> names;
  for (const LinkedLibrary& library : LinkedLibraries()) {
    EXPECT_TRUE(names.insert(library.name).second) << library.name;
    EXPECT_THAT(library.version, MatchesRegex("|[0-9]+([.][0-9]+)*( .*)?")) << library.name;
  }
  EXPECT_GE(names.size(), 18u);
}

// Numbers that a library packs into one.
TEST(VersionsTest, PackedNumbersAreTakenApart) {
  for (const char* name : {"fmt", "Brotli", "xxHash", "Protobuf", "OpenSSL"}) {
    EXPECT_THAT(VersionOf(name), MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+")) << name;
  }
  EXPECT_THAT(VersionOf("OpenSSL"), StartsWith(std::to_string(OPENSSL_VERSION_MAJOR) + "." +
                                               std::to_string(OPENSSL_VERSION_MINOR) + "."));
}

TEST(VersionsTest, AVersionIsALineForEachLibraryBehindOurs) {
  const std::string text = DescribeVersions("1.2.3");

  EXPECT_THAT(text, StartsWith("1.2.3\ngRPC "));
  EXPECT_THAT(text, HasSubstr("\nSQLite 3."));
  EXPECT_THAT(text, HasSubstr("\nlibiberty (has no version number)"));
}

}  // namespace
}  // namespace eidolon::cli
