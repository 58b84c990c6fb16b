#include "services/cli/html.h"

#include "services/base/text.h"
#include "services/controller/shown/document_fields.h"
#include "services/controller/shown/printable.h"

namespace eidolon::cli::html {

using base::StrCat;
using controller::shown::Beginning;
using controller::shown::ToPrintable;

std::string Escape(std::string_view text, std::size_t bytes_max) {
  std::string kept(text.substr(0, bytes_max));
  if (text.size() > bytes_max) {
    kept = Beginning(std::string(text.substr(0, bytes_max + 4)), bytes_max);
    kept += StrCat("... (", text.size() - kept.size(), " more bytes)");
  }
  std::string escaped;
  for (const char c : ToPrintable(kept)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Element(std::string_view name, Attributes attributes, const std::string& inner) {
  std::string text = StrCat("<", name);
  for (const auto& [key, value] : attributes) text += StrCat(" ", key, "=\"", Escape(value), "\"");
  return StrCat(text, ">", inner, "</", name, ">");
}

std::string Text(std::string_view name, std::string_view text) {
  return Element(name, {}, Escape(text));
}

}  // namespace eidolon::cli::html
