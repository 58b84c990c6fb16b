#include "services/controller/page/asset.h"

#include <algorithm>
#include <string>
#include <vector>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/hex.h"
#include "services/base/text.h"
#include "services/controller/page/bundle.h"
#include "services/controller/page/files.h"

namespace eidolon::controller::page {
namespace {

std::string_view TypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  CHECK(name.ends_with(".js"));
  return "text/javascript; charset=utf-8";
}

std::string TagOf(std::string_view content) {
  const base::Digest digest = base::Hash128(content.data(), content.size());
  return base::StrCat("\"", digest.high, "-", digest.low, "\"");
}

// The page names the files of this version.
std::string_view Index(std::string_view content) {
  static const std::string kIndex = [content] {
    constexpr std::string_view kFolder = "\"/page/";
    std::string text(content);
    const std::string versioned = base::StrCat(kFolder, Version(), "/");
    for (auto at = text.find(kFolder); at != text.npos; at = text.find(kFolder, at + 1)) {
      text.replace(at, kFolder.size(), versioned);
    }
    return text;
  }();
  return kIndex;
}

}  // namespace

std::string_view Version() {
  static const std::string kVersion = [] {
    std::string contents;
    for (const File& file : Files()) contents += file.content;
    const base::Digest digest = base::Hash128(contents.data(), contents.size());
    return base::Hex(digest).substr(0, 16);
  }();
  return kVersion;
}

std::span<const Asset> Assets() {
  static const std::vector<Asset> kAssets = [] {
    std::vector<Asset> assets;
    const auto add = [&](std::string_view name, std::string_view content) {
      assets.push_back(
          {.name = name, .type = TypeOf(name), .content = content, .tag = TagOf(content)});
    };
    for (const File& file : Files()) {
      if (file.name == "report.html") continue;  // Of report_file.h.
      add(file.name, file.name == "index.html" ? Index(file.content) : file.content);
    }
    static const std::string kBundle = BundleOf("app.js");
    add(kBundleName, kBundle);
    return assets;
  }();
  return kAssets;
}

const Asset* FindAsset(std::string_view name) {
  const auto found = std::ranges::find(Assets(), name, &Asset::name);
  return found == Assets().end() ? nullptr : &*found;
}

}  // namespace eidolon::controller::page
