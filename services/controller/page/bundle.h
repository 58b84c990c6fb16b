// The page's modules as one script, which a browser loads at once. Modules by themselves arrive
// level by level, each when one that imports it has been read, and from file:// a browser loads
// none at all.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::controller::page {

// The module and all that it imports, as one script: each module is a function that gives its
// exports. Imports and exports have the forms that the page's modules use: `import {a, b as c} from
// "./x.js";` and `export` before const, class or function. Requires: no cycle.
std::string BundleOf(std::string_view module);

// The content of a file of the page. Requires: it exists.
std::string_view ContentOf(std::string_view name);

// The text with `to` in each place of `from`.
std::string Replaced(std::string text, std::string_view from, std::string_view to);

// The text between the first `begin` and the next `end`. Requires: both exist.
std::string Between(std::string_view text, std::string_view begin, std::string_view end);

}  // namespace eidolon::controller::page
