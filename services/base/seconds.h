// Seconds as text, for people.
#pragma once

#include <string>

namespace eidolon::base {

// "2.431 s", "12.30 ms", "840.0 us": four digits. What is not above zero is "0 s".
std::string FormatSeconds(double seconds);

}  // namespace eidolon::base
