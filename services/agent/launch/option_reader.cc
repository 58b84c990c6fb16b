// Each launcher has a parser of its own: argparse takes unique abbreviations and underscores, Open
// MPI takes one dash for a long name, Slurm takes a value attached to a short one. One reader
// serves all, and OptionSyntax says which of these hold.
#include "services/agent/launch/option_reader.h"

#include <algorithm>
#include <optional>

#include "services/base/text.h"

namespace eidolon::agent::launch {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

std::string Dashed(const OptionSyntax& syntax, std::string_view name) {
  std::string dashed(name);
  if (syntax.underscores) std::ranges::replace(dashed, '_', '-');
  if (syntax.one_dash && dashed.size() > 2 && dashed[1] != '-') dashed.insert(0, "-");
  return dashed;
}

// Finds an option by its name, its short form, or a beginning that only one option has.
const Option* FindOption(const OptionSyntax& syntax, std::string_view name) {
  const std::string dashed = Dashed(syntax, name);
  const Option* found = nullptr;
  for (const Option& option : syntax.options) {
    if (option.name == dashed || (!option.short_name.empty() && option.short_name == name)) {
      return &option;
    }
    if (!syntax.abbreviates || !dashed.starts_with("--") || !option.name.starts_with(dashed)) {
      continue;
    }
    if (found != nullptr) return nullptr;
    found = &option;
  }
  return found;
}

// One word that begins with a dash, taken apart.
struct Word {
  std::string_view name;
  std::optional<std::string> value;  // That it holds itself.
  const Option* option = nullptr;    // Null: not listed.
};

Word TakeApart(const OptionSyntax& syntax, const std::string& text) {
  const std::size_t equals = text.find('=');
  Word word{.name = std::string_view(text).substr(0, equals), .value = {}};
  if (equals != std::string::npos) word.value = text.substr(equals + 1);
  word.option = FindOption(syntax, word.name);
  if (word.option != nullptr || text.starts_with("--") || text.size() < 3) return word;
  // "-n8".
  const std::string_view begin = std::string_view(text).substr(0, 2);
  const Option* attached = FindOption(syntax, begin);
  if (attached == nullptr || attached->values == 0) return word;
  return {.name = begin, .value = text.substr(2), .option = attached};
}

}  // namespace

base::Result<std::size_t> ReadOptions(const OptionSyntax& syntax,
                                      std::span<const std::string> words, const OptionTaker& take) {
  std::size_t at = 0;
  for (; at < words.size() && words[at].starts_with('-') && words[at].size() > 1; ++at) {
    if (words[at] == "--") return at + 1;
    const Word word = TakeApart(syntax, words[at]);
    if (word.option == nullptr && !syntax.others_have_value) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat(syntax.program, " has no option '", word.name, "'"));
    }
    int missing = word.option == nullptr ? 1 : word.option->values;
    std::string value;
    if (word.value) {
      value = *word.value;
      --missing;
    }
    for (; missing > 0; --missing) {
      if (++at == words.size()) {
        return Fail(ErrorCode::kInvalidArgument,
                    StrCat(syntax.program, "'s option ", word.name, " has no value"));
      }
      if (value.empty()) value = words[at];
    }
    const std::string_view name = word.option == nullptr ? word.name : word.option->name;
    if (auto taken = take(name, value); !taken) return std::unexpected(taken.error());
  }
  return at;
}

}  // namespace eidolon::agent::launch
