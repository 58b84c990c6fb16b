#include "services/controller/page/report_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "services/controller/page/asset.h"

namespace eidolon::controller::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Count(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportFileTest, AsksNobodyAndRunsItsOwnScriptAlone) {
  const std::string file = ReportFile("{}");

  const std::string own =
      std::regex_replace(file, std::regex("http://www\\.w3\\.org/[0-9]+/svg"), "");
  for (const char* part :
       {"http://", "https://", "<link", "<img", "@import", "url(", "fetch(", "import("}) {
    EXPECT_THAT(own, Not(HasSubstr(part)));
  }
  EXPECT_THAT(file, HasSubstr("default-src 'none'; script-src 'nonce-"));
  EXPECT_THAT(file, HasSubstr("trusted-types 'none'"));
  EXPECT_THAT(file, Not(HasSubstr("unsafe")));
  EXPECT_THAT(file, Not(HasSubstr("{{n")));
  EXPECT_EQ(Count(file, "</script>"), 2u);
  EXPECT_EQ(Count(file, "</style>"), 1u);
}

TEST(ReportFileTest, TextsOfTheDataEndNoElementAndGuessNoNonce) {
  const std::regex kNonce("script nonce=\"([0-9a-f]{32})\"");
  std::set<std::string> nonces;
  for (const std::string data :
       {R"({"a": "</script><script>alert(1)</script><!--"})", R"({"a": "{{script}}"})"}) {
    const std::string file = ReportFile(data);
    EXPECT_EQ(Count(file, "</script>"), 2u);
    EXPECT_EQ(Count(file, "<!--"), 0u);
    std::smatch found;
    ASSERT_TRUE(std::regex_search(file, found, kNonce));
    nonces.insert(found[1]);
  }
  EXPECT_EQ(nonces.size(), 2u);
  EXPECT_THAT(ReportFile(R"({"a": "{{script}}"})"), HasSubstr(R"({"a": "{{script}}"})"));
}

}  // namespace
}  // namespace eidolon::controller::page
