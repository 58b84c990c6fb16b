// Explains a command line that has a word which is neither a command nor a flag.
#pragma once

#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace eidolon::cli {

// A sentence about the first word that the parser could not place, with the nearest one that it
// knows there; nothing when it placed all. Requires: `app` has parsed, in vain.
std::optional<std::string> DescribeUnknownWord(const CLI::App& app);

}  // namespace eidolon::cli
