// Files that the controller serves as its page: plain files, the same for every user, without
// secrets.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace eidolon::controller::page {

struct Asset {
  std::string_view name;  // "app.js"
  std::string_view type;  // Media type.
  std::string_view content;
  std::string tag;  // Entity tag of the content, with its quotes.
};

// All modules as one script (bundle.h), which "index.html" loads.
inline constexpr char kBundleName[] = "page.js";

// What a browser may do in the page: run and show this server's own files, ask this server, turn no
// text into markup, and be framed by nobody.
inline constexpr char kPolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
    "'script'; trusted-types 'none'";

// All of them, made once. Thread safe. In "index.html", addresses of the others hold Version().
std::span<const Asset> Assets();

// Changes with the content of any file, in hexadecimal: a browser need never ask again for what
// stands under an address that holds it.
std::string_view Version();

// Null when there is no such file. "index.html" is the page itself.
const Asset* FindAsset(std::string_view name);

}  // namespace eidolon::controller::page
