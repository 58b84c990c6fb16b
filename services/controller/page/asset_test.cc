#include "services/controller/page/asset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

namespace eidolon::controller::page {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(std::string_view name) {
  const Asset* asset = FindAsset(name);
  return asset == nullptr ? "" : std::string(asset->content);
}

TEST(AssetTest, EveryFileHasATypeAndATag) {
  std::set<std::string> tags;
  for (const Asset& asset : Assets()) {
    EXPECT_FALSE(asset.content.empty()) << asset.name;
    EXPECT_FALSE(asset.type.empty()) << asset.name;
    EXPECT_TRUE(tags.insert(asset.tag).second) << asset.name;
  }
  EXPECT_EQ(FindAsset("app.js")->type, "text/javascript; charset=utf-8");
  EXPECT_EQ(FindAsset("nothing.js"), nullptr);
  EXPECT_EQ(FindAsset("../index.html"), nullptr);
}

// What a page names is served: one that is missing shows as an empty page.
TEST(AssetTest, WhatThePageAndItsModulesNameIsThere) {
  const std::regex kNames(R"re((?:"/page/[0-9a-f]{16}/|from "\./)([\w.]+)")re");
  std::size_t count = 0;
  for (const Asset& asset : Assets()) {
    const std::string text(asset.content);
    for (std::sregex_iterator at(text.begin(), text.end(), kNames), end; at != end; ++at, ++count) {
      EXPECT_NE(FindAsset((*at)[1].str()), nullptr) << asset.name << " names " << (*at)[1];
    }
  }
  EXPECT_GT(count, 10u);
  EXPECT_THAT(Text(kBundleName), HasSubstr("const $job_page = "));
}

TEST(AssetTest, ThePageNamesTheFilesOfItsVersion) {
  const std::string folder = "\"/page/" + std::string(Version()) + "/";
  const std::string index = Text("index.html");
  EXPECT_THAT(index, HasSubstr("<script defer src=" + folder + kBundleName + "\">"));
  EXPECT_THAT(std::regex_replace(index, std::regex(folder), ""), Not(HasSubstr("/page/")));
}

TEST(AssetTest, NothingAsksAnotherServerOrTurnsTextIntoMarkup) {
  for (const Asset& asset : Assets()) {
    std::string text(asset.content);
    // The names of XML's vocabularies are not addresses.
    text = std::regex_replace(text, std::regex("http://www\\.w3\\.org/[0-9]+/svg"), "");
    // A window that the user opens on another page: this one asks it for nothing.
    if (asset.name == "timeline.js" || asset.name == kBundleName) {
      text = std::regex_replace(text, std::regex("const VIEWER = \"https://ui\\.perfetto\\.dev\""),
                                "");
    }
    for (const char* word :
         {"http://", "https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
          "eval(", "new Function", "DOMParser", "document.cookie"}) {
      EXPECT_THAT(text, Not(HasSubstr(word))) << asset.name;
    }
  }
  EXPECT_THAT(Text("index.html"), Not(HasSubstr("style=")));
  EXPECT_THAT(Text("index.html"), Not(HasSubstr("<style")));
}

TEST(AssetTest, ThePolicyAllowsNothingInline) {
  EXPECT_THAT(kPolicy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(kPolicy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(kPolicy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(kPolicy, Not(HasSubstr("*")));
}

}  // namespace
}  // namespace eidolon::controller::page
