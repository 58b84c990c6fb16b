#include "services/controller/job/utf8.h"

#include <algorithm>
#include <cstddef>

namespace eidolon::controller::job {
namespace {

// The bytes that follow a first byte, and the limits of the second one (Unicode 15, table 3-7).
struct Form {
  std::size_t following = 0;
  unsigned char second_min = 0x80;
  unsigned char second_max = 0xbf;
};

bool FindForm(unsigned char first, Form* form) {
  if (first < 0x80) return true;
  if (first >= 0xc2 && first <= 0xdf) {
    form->following = 1;
  } else if (first >= 0xe0 && first <= 0xef) {
    form->following = 2;
    if (first == 0xe0) form->second_min = 0xa0;
    if (first == 0xed) form->second_max = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    form->following = 3;
    if (first == 0xf0) form->second_min = 0x90;
    if (first == 0xf4) form->second_max = 0x8f;
  } else {
    return false;
  }
  return true;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    Form form;
    if (!FindForm(static_cast<unsigned char>(text[at]), &form)) return false;
    for (std::size_t i = 0; i < form.following; ++i) {
      if (++at == text.size()) return false;
      const auto byte = static_cast<unsigned char>(text[at]);
      if (byte < (i == 0 ? form.second_min : 0x80) || byte > (i == 0 ? form.second_max : 0xbf)) {
        return false;
      }
    }
  }
  return true;
}

std::string Beginning(std::string_view text, std::size_t bytes) {
  std::size_t end = std::min(text.size(), bytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return std::string(text.substr(0, end));
}

}  // namespace eidolon::controller::job
