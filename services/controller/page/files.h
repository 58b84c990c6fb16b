// The files of this folder that travel inside the binary.
#pragma once

#include <span>
#include <string_view>

namespace eidolon::controller::page {

struct File {
  std::string_view name;  // "app.js"
  std::string_view content;
};

std::span<const File> Files();

}  // namespace eidolon::controller::page
