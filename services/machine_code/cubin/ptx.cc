// Libraries embed megabytes of PTX, of which launching needs a few lines for each kernel. So
// instructions are not parsed: the parser understands directives at the top level and lets a body
// pass by its braces. The one thing that matters inside a body is `.shared` where a statement
// begins, which declares an array; elsewhere it qualifies another declaration. Offsets follow the C
// rules of alignment, as the driver lays parameters out. Lengths come from the text, so a product
// is bounded before it is computed.
#include "services/machine_code/cubin/ptx.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "services/base/text.h"
#include "services/machine_code/cubin/ptx_tokens.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

// The largest parameter block of any architecture, with room to spare.
constexpr std::uint64_t kLargestParameters = 64 << 10;

// Bytes of a type directive; nothing when the word is not a type.
std::optional<std::uint32_t> TypeBytes(std::string_view word) {
  struct Type {
    std::string_view name;
    std::uint32_t bytes;
  };
  static constexpr std::array kTypes = {
      Type{".b8", 1},      Type{".u8", 1},        Type{".s8", 1},    Type{".b16", 2},
      Type{".u16", 2},     Type{".s16", 2},       Type{".f16", 2},   Type{".bf16", 2},
      Type{".b32", 4},     Type{".u32", 4},       Type{".s32", 4},   Type{".f32", 4},
      Type{".f16x2", 4},   Type{".bf16x2", 4},    Type{".b64", 8},   Type{".u64", 8},
      Type{".s64", 8},     Type{".f64", 8},       Type{".b128", 16}, Type{".texref", 8},
      Type{".surfref", 8}, Type{".samplerref", 8}};
  const auto found = std::ranges::find(kTypes, word, &Type::name);
  if (found == kTypes.end()) return std::nullopt;
  return found->bytes;
}

std::optional<std::uint64_t> Number(std::string_view word) {
  const auto value = base::ParseInteger(word);
  if (!value || *value < 0) return std::nullopt;
  return static_cast<std::uint64_t>(*value);
}

// A declared name with its size: ".align 8 .b8 name[40]".
struct Declaration {
  std::string_view name;
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) { code_.is_ptx = true; }

  base::Result<Code> Parse() {
    bool external = false;
    while (!tokens_.at_end()) {
      const std::string_view word = tokens_.Take();
      base::Result<void> done;
      if (word == ".extern") {
        external = true;
        continue;
      }
      if (word == ".target") {
        done = ReadTarget();
      } else if (word == ".entry") {
        done = ReadEntry();
      } else if (word == ".func") {
        SkipFunction();
      } else if ((word == ".global" || word == ".const") && !external) {
        done = ReadVariable(word == ".const");
      } else if (word == "{") {
        SkipBlock();
      } else if (word == ".visible" || word == ".weak" || word == ".common") {
        continue;
      }
      external = false;
      if (!done) return std::unexpected(std::move(done.error()));
    }
    if (code_.target.architecture == 0) return Wrong("no .target");
    return std::move(code_);
  }

 private:
  std::unexpected<base::Error> Wrong(std::string_view what) const {
    return Fail(ErrorCode::kCorrupt, StrCat("PTX line ", tokens_.line(), ": ", what));
  }

  base::Result<void> ReadTarget() {
    std::string_view name = tokens_.Take();
    if (!name.starts_with("sm_")) return Wrong(StrCat("target '", name, "' is not sm_<number>"));
    name.remove_prefix(3);
    Suffix suffix = Suffix::kNone;
    if (name.ends_with('a')) suffix = Suffix::kSpecific;
    if (name.ends_with('f')) suffix = Suffix::kFamily;
    if (suffix != Suffix::kNone) name.remove_suffix(1);
    code_.target.suffix = suffix;
    const auto number = Number(name);
    if (!number || *number == 0 || *number > 999) return Wrong("target without a number");
    code_.target.architecture = static_cast<std::uint32_t>(*number);
    return {};
  }

  // Reads up to the end of a declarator, before "," ")" ";" or "=".
  base::Result<Declaration> ReadDeclaration() {
    Declaration declared;
    std::optional<std::uint32_t> element;
    bool pointee = false;  // After .ptr, .align speaks of what is pointed to.
    while (tokens_.current().starts_with('.')) {
      const std::string_view word = tokens_.Take();
      if (word == ".ptr") pointee = true;
      if (word == ".align") {
        const auto alignment = Number(tokens_.Take());
        if (!alignment || *alignment == 0 || *alignment > 4096)
          return Wrong(".align without a number");
        if (!pointee) declared.alignment = *alignment;
      } else if (const auto bytes = TypeBytes(word)) {
        element = *bytes;
      }
    }
    declared.name = tokens_.Take();
    if (!element || declared.name.empty()) return Wrong("declaration without a type or a name");
    declared.bytes = *element;
    declared.alignment = std::max<std::uint64_t>(declared.alignment, *element);
    while (tokens_.TakeIf("[")) {
      if (tokens_.TakeIf("]")) continue;  // The initialiser or the launch decides.
      const auto count = Number(tokens_.Take());
      if (!count ||
          *count > (std::uint64_t{1} << 40) / std::max<std::uint64_t>(declared.bytes, 1)) {
        return Wrong(StrCat("array '", declared.name, "' without a usable length"));
      }
      declared.bytes *= *count;
      if (!tokens_.TakeIf("]")) return Wrong("array without ']'");
    }
    return declared;
  }

  base::Result<void> ReadVariable(bool constant) {
    const auto declared = ReadDeclaration();
    if (!declared) return std::unexpected(declared.error());
    while (!tokens_.at_end() && !tokens_.TakeIf(";")) tokens_.Take();
    code_.variables.push_back(
        {.name = declared->name, .bytes = declared->bytes, .constant = constant});
    if (!constant) return {};
    const std::uint64_t end = code_.constant_bytes + declared->bytes;
    if (end > kLargestMemory) return Wrong("constants larger than any architecture allows");
    code_.constant_bytes = static_cast<std::uint32_t>(end);
    return {};
  }

  base::Result<void> ReadParameters(Function& function) {
    if (!tokens_.TakeIf("(")) return {};
    std::uint64_t end = 0;
    while (!tokens_.TakeIf(")")) {
      if (!tokens_.TakeIf(".param")) return Wrong("parameter list without .param");
      const auto declared = ReadDeclaration();
      if (!declared) return std::unexpected(declared.error());
      const std::uint64_t offset =
          (end + declared->alignment - 1) / declared->alignment * declared->alignment;
      end = offset + declared->bytes;
      if (end > kLargestParameters) return Wrong("parameters larger than any architecture allows");
      function.parameters.push_back(
          {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(declared->bytes)});
      tokens_.TakeIf(",");
    }
    function.parameter_bytes = static_cast<std::uint32_t>(end);
    return {};
  }

  base::Result<std::array<std::uint32_t, 3>> ReadDims() {
    std::array<std::uint32_t, 3> dims = {1, 1, 1};
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto number = Number(tokens_.Take());
      if (!number || *number > 0x7fffffff) return Wrong("launch bound without a number");
      dims[i] = static_cast<std::uint32_t>(*number);
      if (!tokens_.TakeIf(",")) break;
    }
    return dims;
  }

  base::Result<void> ReadBounds(Function& function) {
    while (tokens_.current().starts_with('.')) {
      const std::string_view word = tokens_.Take();
      std::array<std::uint32_t, 3>* target = nullptr;
      if (word == ".maxntid") target = &function.block_max;
      if (word == ".reqntid") target = &function.block_required;
      if (word == ".reqnctapercluster") target = &function.cluster;
      if (target != nullptr) {
        const auto dims = ReadDims();
        if (!dims) return std::unexpected(dims.error());
        *target = *dims;
      } else if (word == ".maxclusterrank") {
        function.cluster_blocks_max =
            static_cast<std::uint32_t>(Number(tokens_.Take()).value_or(0));
      } else if (!tokens_.current().starts_with('.') && tokens_.current() != "{" &&
                 tokens_.current() != ";") {
        tokens_.Take();  // The value of a directive that does not concern us.
      }
    }
    return {};
  }

  base::Result<void> ReadEntry() {
    Function function;
    function.name = tokens_.Take();
    if (function.name.empty() || function.name == "(") return Wrong(".entry without a name");
    if (auto done = ReadParameters(function); !done) return done;
    if (auto done = ReadBounds(function); !done) return done;
    if (tokens_.TakeIf(";")) return {};  // Only declared.
    if (!tokens_.TakeIf("{")) return Wrong(StrCat("entry '", function.name, "' without a body"));
    if (auto done = ReadBody(function); !done) return done;
    code_.functions.push_back(std::move(function));
    return {};
  }

  // Shared arrays are declared inside the entry that uses them.
  base::Result<void> ReadBody(Function& function) {
    int depth = 1;
    bool statement_begins = true;
    while (depth > 0) {
      if (tokens_.at_end()) return Wrong(StrCat("entry '", function.name, "' does not end"));
      const std::string_view word = tokens_.Take();
      if (word == "{") ++depth;
      if (word == "}") --depth;
      if (word == ".shared" && statement_begins) {
        const auto declared = ReadDeclaration();
        if (!declared) return std::unexpected(declared.error());
        const std::uint64_t offset = (function.static_shared_bytes + declared->alignment - 1) /
                                     declared->alignment * declared->alignment;
        const std::uint64_t end = offset + declared->bytes;
        if (end > kLargestMemory) return Wrong("shared memory larger than any architecture allows");
        function.static_shared_bytes = static_cast<std::uint32_t>(end);
      }
      statement_begins = word == ";" || word == "{" || word == "}" || word == ":";
    }
    return {};
  }

  void SkipBlock() {
    for (int depth = 1; depth > 0 && !tokens_.at_end();) {
      const std::string_view word = tokens_.Take();
      if (word == "{") ++depth;
      if (word == "}") --depth;
    }
  }

  void SkipFunction() {
    while (!tokens_.at_end()) {
      const std::string_view word = tokens_.Take();
      if (word == ";") return;
      if (word == "{") return SkipBlock();
    }
  }

  PtxTokens tokens_;
  Code code_;
};

}  // namespace

base::Result<Code> ParsePtx(std::string_view text) { return Parser(text).Parse(); }

}  // namespace eidolon::cubin
