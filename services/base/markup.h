// Text inside of XML and HTML.
#pragma once

#include <string>
#include <string_view>

namespace eidolon::base {

// The text with <, >, & and quotes as entities, for contents and attributes of elements. Control
// characters, which XML forbids, are left out.
std::string EscapeMarkup(std::string_view text);

}  // namespace eidolon::base
