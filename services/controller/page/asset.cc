#include "services/controller/page/asset.h"

#include <algorithm>
#include <vector>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/text.h"
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

}  // namespace

std::span<const Asset> Assets() {
  static const std::vector<Asset> kAssets = [] {
    std::vector<Asset> assets;
    for (const File& file : Files()) {
      const base::Digest digest = base::Hash128(file.content.data(), file.content.size());
      assets.push_back({.name = file.name,
                        .type = TypeOf(file.name),
                        .content = file.content,
                        .tag = base::StrCat("\"", digest.high, "-", digest.low, "\"")});
    }
    return assets;
  }();
  return kAssets;
}

const Asset* FindAsset(std::string_view name) {
  const auto found = std::ranges::find(Assets(), name, &Asset::name);
  return found == Assets().end() ? nullptr : &*found;
}

}  // namespace eidolon::controller::page
