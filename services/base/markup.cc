#include "services/base/markup.h"

namespace eidolon::base {

std::string EscapeMarkup(std::string_view text) {
  static constexpr std::string_view kMarks = "<>&\"'";
  static constexpr std::string_view kEntities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
  std::string escaped;
  for (const char c : text) {
    const std::size_t mark = kMarks.find(c);
    if (mark != kMarks.npos) {
      escaped += kEntities[mark];
    } else if (static_cast<unsigned char>(c) >= 32) {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace eidolon::base
