// Reading the options of a command that starts other programs: everything before the first word
// that is neither an option nor the value of one.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "services/base/error.h"

namespace eidolon::agent::launch {

struct Option {
  std::string_view name;             // With dashes between its words.
  std::string_view short_name = {};  // "-n"; its value may follow without a space.
  int values = 1;                    // Words that follow; "--name=value" holds the first one.
};

struct OptionSyntax {
  std::string_view program;  // For sentences: "torchrun".
  std::span<const Option> options;
  bool underscores = false;        // Names may be written with underscores.
  bool abbreviates = false;        // A beginning that only one option has is enough.
  bool one_dash = false;           // "-name" is "--name", as with Open MPI.
  bool others_have_value = false;  // Options that are not listed have one value.
};

// Called with the option's name as it is listed (or as it is written, when it is not) and its first
// value; may refuse it.
using OptionTaker =
    std::function<base::Result<void>(std::string_view name, const std::string& value)>;

// Returns where the program that is started begins in `words`. Fails, with a sentence for the user,
// on an option that is not known and on a missing value.
base::Result<std::size_t> ReadOptions(const OptionSyntax& syntax,
                                      std::span<const std::string> words, const OptionTaker& take);

}  // namespace eidolon::agent::launch
