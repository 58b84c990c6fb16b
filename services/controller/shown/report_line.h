// Lines of the text report, a label and what is said of it, and quantities for people.
#pragma once

#include <string>

#include "services/base/seconds.h"

namespace eidolon::controller::shown {

// "  label            text\n"; a text stays on its line, with its line ends shown as "\x0a".
std::string Line(const std::string& label, const std::string& text);
// Formats by a format of printf for one double.
std::string Print(const char* format, double value);
// 0.812 as "81.2 %".
std::string Percent(double share);

using base::FormatSeconds;
// "41 s", "3 min 20 s", "2 h 5 min".
std::string FormatSpan(double seconds);
// 53916 as "53 916".
std::string FormatCount(double count);

}  // namespace eidolon::controller::shown
