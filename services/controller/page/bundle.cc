// The bundler knows the few forms in which the page imports and exports, line by line, and checks
// (CHECK) what it relies on; the files are compiled in, so a failed check is a bug of the page and
// never the user's doing. Each module becomes a function, which keeps its names to itself.
#include "services/controller/page/bundle.h"

#include <algorithm>
#include <set>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/controller/page/files.h"

namespace eidolon::controller::page {
namespace {

using base::StrCat;

// "append" of "async function* append(node) {".
std::string_view DeclaredName(std::string_view declaration) {
  for (const std::string_view word : {"const ", "async ", "function ", "function* ", "class "}) {
    if (declaration.starts_with(word)) declaration.remove_prefix(word.size());
  }
  return declaration.substr(0, declaration.find_first_of(" (="));
}

// "text_file.js" is $text_file in a bundle.
std::string VariableOf(std::string_view module) {
  return StrCat("$", module.substr(0, module.find('.')));
}

class Bundle {
 public:
  // Adds the module behind those that it imports.
  void Add(std::string_view module) {
    if (!added_.emplace(module).second) return;
    CHECK(open_.emplace(module).second);
    std::string body;
    std::string exports;
    for (std::string_view rest = ContentOf(module); !rest.empty();) {
      constexpr std::string_view kImport = "import {", kExport = "export ";
      const bool imports = rest.starts_with(kImport);
      const std::size_t end = rest.find(imports ? ";\n" : "\n");
      std::string_view line = rest.substr(0, end == rest.npos ? end : end + (imports ? 2 : 1));
      rest.remove_prefix(line.size());
      if (imports) {
        const std::string from = Between(line, "from \"./", "\"");
        CHECK(!open_.contains(from));
        Add(from);
        body += StrCat("const {", Replaced(Between(line, kImport, "}"), " as ", ": "),
                       "} = ", VariableOf(from), ";\n");
        continue;
      }
      if (line.starts_with(kExport)) {
        line.remove_prefix(kExport.size());
        exports += StrCat(DeclaredName(line), ", ");
      }
      body += line;
    }
    open_.erase(std::string(module));
    text_ += StrCat("const ", VariableOf(module), " = (() => {\n", body, "return {", exports,
                    "};\n})();\n");
  }

  std::string Take() { return StrCat("(() => {\n\"use strict\";\n", text_, "})();\n"); }

 private:
  std::set<std::string, std::less<>> added_;
  std::set<std::string, std::less<>> open_;  // Whose imports are being added.
  std::string text_;
};

}  // namespace

std::string_view ContentOf(std::string_view name) {
  const auto file = std::ranges::find(Files(), name, &File::name);
  CHECK(file != Files().end());
  return file->content;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string Between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto from = text.find(begin);
  CHECK(from != text.npos);
  const std::string_view rest = text.substr(from + begin.size());
  CHECK(rest.contains(end));
  return std::string(rest.substr(0, rest.find(end)));
}

std::string BundleOf(std::string_view module) {
  Bundle bundle;
  bundle.Add(module);
  return bundle.Take();
}

}  // namespace eidolon::controller::page
