// Any bytes as numbers and names.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/check.h"
#include "services/base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace base = eidolon::base;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto number = base::ParseInteger(text)) {
    CHECK(base::ParseInteger(base::StrCat(*number)) == number);
  }
  if (const auto number = base::ParseNumber(text)) CHECK(std::isfinite(*number));
  std::vector<std::string> words;
  for (const std::string_view part : base::Split(text, ',')) words.emplace_back(part);
  CHECK(base::Join(words, ",") == text);
  constexpr std::size_t kWords = 8;  // Distances take the square of the length.
  if (words.size() <= kWords && size < 256) base::NearestName(words[0], words);
  return 0;
}
