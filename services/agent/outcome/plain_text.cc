#include "services/agent/outcome/plain_text.h"

#include <cstddef>
#include <string_view>

namespace eidolon::agent::outcome {

std::string PlainText(const std::string& text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    bool good = lead < 0x80 || (lead >= 0xc2 && lead <= 0xf4 && i + length <= text.size());
    for (std::size_t k = 1; good && k < length; ++k) {
      good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
    }
    if (good && length > 2) {
      // Neither longer than it need be, nor half of a UTF-16 pair, nor beyond Unicode.
      const auto second = static_cast<unsigned char>(text[i + 1]);
      good = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second > 0x9f) &&
             !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second > 0x8f);
    }
    if (good) {
      plain.append(text, i, length);
      i += length;
    } else {
      constexpr std::string_view kDigits = "0123456789abcdef";
      plain += {'\\', 'x', kDigits[lead >> 4], kDigits[lead & 0xf]};
      ++i;
    }
  }
  return plain;
}

}  // namespace eidolon::agent::outcome
