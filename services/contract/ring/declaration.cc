// The reader lives in the user's process and must never stop the program, so a line that is damaged
// is left out, together with the shares behind it. The writer has checked everything before the job
// started. Values are printed with 17 digits, which give the same double back. Rows of the table of
// types follow the enumeration.
#include "services/contract/ring/declaration.h"

#include <array>

#include "services/base/text.h"

namespace eidolon::ring {
namespace {

using base::StrCat;

struct TypeRow {
  std::string_view name;
  std::size_t bytes;
};
// Rows in the order of ElementType.
constexpr std::array<TypeRow, 10> kTypes = {{{"float16", 2},
                                             {"bfloat16", 2},
                                             {"float32", 4},
                                             {"float64", 8},
                                             {"int8", 1},
                                             {"uint8", 1},
                                             {"int16", 2},
                                             {"int32", 4},
                                             {"int64", 8},
                                             {"bool", 1}}};
constexpr std::array<std::string_view, 3> kKinds = {"value", "counts", "indices"};

std::optional<std::uint64_t> Amount(std::string_view text, std::uint64_t max) {
  const auto number = base::ParseInteger(text);
  if (!number || *number < 0 || static_cast<std::uint64_t>(*number) > max) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

bool ReadRouting(std::span<const std::string_view> fields, Declaration& result) {
  const auto experts = Amount(fields[0], kExpertsMax);
  const auto tokens = Amount(fields[1], kRoutedElementsMax);
  const auto top_k = Amount(fields[2], kExpertsMax);
  const auto seed = Amount(fields[3], INT64_MAX);
  if (!experts || !tokens || !top_k || !seed) return false;
  if (*experts == 0 || *tokens == 0 || *top_k == 0 || *top_k > *experts) return false;
  if (*tokens * *top_k > kRoutedElementsMax) return false;
  result.experts = *experts;
  result.tokens = *tokens;
  result.top_k = *top_k;
  result.seed = *seed;
  return true;
}

std::optional<Declaration> ReadDeclaration(std::span<const std::string_view> fields) {
  Declaration result;
  if (fields.size() < 7) return std::nullopt;
  std::size_t kind = 0;
  while (kind < kKinds.size() && kKinds[kind] != fields[0]) ++kind;
  const auto number = Amount(fields[1], UINT32_MAX);
  const auto type = ElementTypeOf(fields[2]);
  const auto pointer = base::ParseInteger(fields[3]);
  if (kind == kKinds.size() || !number || !type || !pointer) return std::nullopt;
  if (*pointer < -1 || *pointer > 15) return std::nullopt;
  result.kind = static_cast<DeclarationKind>(kind);
  result.number = static_cast<std::uint32_t>(*number);
  result.type = *type;
  result.pointer = static_cast<std::int32_t>(*pointer);
  result.kernel = fields[4];
  result.line = fields[5];
  if (result.kind != DeclarationKind::kValue) {
    if (fields.size() != 10 || !ReadRouting(fields.subspan(6), result)) return std::nullopt;
    return result;
  }
  const auto value = base::ParseNumber(fields[6]);
  if (!value || fields.size() != 7) return std::nullopt;
  result.value = *value;
  return result;
}

void ReadShares(std::span<const std::string_view> fields, Declaration& declaration) {
  if (fields.size() != declaration.experts || declaration.shares.size() == kShareRowsMax) return;
  std::vector<std::uint32_t> row;
  std::uint64_t total = 0;
  for (const std::string_view field : fields) {
    const auto share = Amount(field, UINT32_MAX);
    if (!share) return;
    row.push_back(static_cast<std::uint32_t>(*share));
    total += *share;
  }
  if (total > 0) declaration.shares.push_back(std::move(row));
}

}  // namespace

std::size_t BytesOf(ElementType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }

std::string_view NameOf(ElementType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::optional<ElementType> ElementTypeOf(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

std::string PrintDeclarations(std::span<const Declaration> declarations) {
  std::string text;
  for (const Declaration& one : declarations) {
    text += StrCat(kKinds[static_cast<std::size_t>(one.kind)], "\t", one.number, "\t",
                   NameOf(one.type), "\t", one.pointer, "\t", one.kernel, "\t", one.line, "\t");
    if (one.kind == DeclarationKind::kValue) {
      std::array<char, 32> value{};
      std::snprintf(value.data(), value.size(), "%.17g", one.value);
      text += StrCat(value.data(), "\n");
      continue;
    }
    text += StrCat(one.experts, "\t", one.tokens, "\t", one.top_k, "\t", one.seed, "\n");
    for (const auto& row : one.shares) {
      text += "shares";
      for (const std::uint32_t share : row) text += "\t" + std::to_string(share);
      text += "\n";
    }
  }
  return text;
}

std::vector<Declaration> ParseDeclarations(std::string_view text) {
  std::vector<Declaration> result;
  bool last_is_good = false;  // What shares belong to.
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> fields = base::Split(line, '\t');
    if (fields.empty()) continue;
    if (fields[0] == "shares") {
      if (last_is_good) ReadShares(std::span(fields).subspan(1), result.back());
      continue;
    }
    auto declaration = ReadDeclaration(fields);
    last_is_good = declaration.has_value();
    if (last_is_good) result.push_back(*std::move(declaration));
  }
  return result;
}

}  // namespace eidolon::ring
