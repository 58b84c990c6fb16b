// Text from outside: documents and names are stored and answered as JSON, which is UTF-8 only.
#pragma once

#include <string_view>

namespace eidolon::controller::job {

// Whether the bytes are UTF-8 without overlong forms, surrogates, or code points above U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace eidolon::controller::job
