#include "services/agent/outcome/plain_text.h"

#include <cstddef>

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
    if (good) {
      plain.append(text, i, length);
      i += length;
    } else {
      plain.push_back('?');
      ++i;
    }
  }
  return plain;
}

}  // namespace eidolon::agent::outcome
