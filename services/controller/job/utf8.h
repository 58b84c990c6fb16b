// Text from outside: documents and names are stored and answered as JSON, which is UTF-8 only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace eidolon::controller::job {

// Returns whether the bytes are UTF-8 without overlong forms, surrogates, or code points above
// U+10FFFF.
bool IsUtf8(std::string_view text);

// Returns at most so many bytes of a UTF-8 text, cut between characters.
std::string Beginning(std::string_view text, std::size_t bytes);

}  // namespace eidolon::controller::job
