// Bytes and digests as hexadecimal text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "services/base/hash.h"

namespace eidolon::base {

// Two hexadecimal digits, in lower case, for each byte in order.
std::string Hex(std::string_view bytes);

// 32 digits, the upper half first.
std::string Hex(const Digest& digest);
// Nothing unless the text is what Hex writes of a digest.
std::optional<Digest> ParseDigest(std::string_view text);

}  // namespace eidolon::base
