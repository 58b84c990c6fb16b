#include "services/controller/page/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "services/controller/page/files.h"

namespace eidolon::controller::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::size_t Occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(BundleTest, HasEachModuleOnceBehindThoseItImports) {
  const std::string bundle = BundleOf("report.js");

  EXPECT_THAT(bundle, Not(HasSubstr("\nimport ")));
  EXPECT_THAT(bundle, Not(HasSubstr("\nexport ")));
  EXPECT_EQ(Occurrences(bundle, "const $text = (() => {"), 1u);
  EXPECT_LT(bundle.find("const $text = "), bundle.find("const $element = "));
  EXPECT_THAT(bundle, HasSubstr("const {shown} = $text;\n"));
  EXPECT_THAT(bundle, HasSubstr("return {append, el, svg, "));
  EXPECT_THAT(bundle, Not(HasSubstr("const $api = "))) << "a report asks no server";
}

// A module with another form of import or export would fail in a reader's browser only.
TEST(BundleTest, ModulesHaveTheFormsThatABundleTakes) {
  const std::regex kLine(R"(\n(import|export) ([^\n]*))");
  const std::regex kImport(R"(\{.*)");
  const std::regex kExport(R"((const|class|function\*?|async function\*?) \w+.*)");
  for (const File& file : Files()) {
    const std::string text = "\n" + std::string(file.content);
    for (std::sregex_iterator at(text.begin(), text.end(), kLine), end; at != end; ++at) {
      EXPECT_TRUE(std::regex_match((*at)[2].str(), (*at)[1] == "import" ? kImport : kExport))
          << file.name << ": " << at->str();
    }
  }
}

}  // namespace
}  // namespace eidolon::controller::page
