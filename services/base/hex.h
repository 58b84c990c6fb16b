// Bytes as text.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::base {

// Two hexadecimal digits, in lower case, for each byte in order.
std::string Hex(std::string_view bytes);

}  // namespace eidolon::base
