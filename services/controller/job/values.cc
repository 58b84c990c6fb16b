// The order of `declared` is part of a protocol: agents know a declaration by its number (from 1),
// report by it which ones were used, and TitlesOf names unused ones by it. expertRouting is
// therefore one more entry at the end and never in between. A declaration must name a kernel or a
// line, since one without either would answer for every value that the host reads.
#include "services/controller/job/values.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "services/base/text.h"

namespace eidolon::controller::job {
namespace {

using base::StrCat;

constexpr std::size_t kDeclaredMax = 256;
constexpr std::size_t kPatternBytesMax = 512;
constexpr std::int64_t kExpertsMax = 4096;
constexpr std::int64_t kRoutedElementsMax = 4 << 20;
constexpr IntegerRule kPointers = {0, 14};
const std::vector<std::string> kTypes = {"float16", "bfloat16", "float32", "float64", "int8",
                                         "uint8",   "int16",    "int32",   "int64",   "bool"};
// PyTorch's topk writes values, then indices.
constexpr std::string_view kTopK = "gatherTopK";
constexpr std::uint32_t kTopKIndices = 1;

std::string ReadPattern(Fields* fields, std::string_view name) {
  std::string text = fields->Text(name);
  if (text.size() > kPatternBytesMax) {
    fields->Report(name, StrCat("is longer than ", kPatternBytesMax, " characters"));
    return "";
  }
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < ' '; })) {
    fields->Report(name, "must not hold tabs or other control characters");
    return "";
  }
  return text;
}

std::optional<std::uint32_t> ReadPointer(Fields* fields) {
  if (!fields->Has("pointer")) return std::nullopt;
  return static_cast<std::uint32_t>(fields->Integer("pointer", kPointers, 0));
}

DeclaredValue ReadDeclared(Fields* fields) {
  DeclaredValue declared;
  declared.kernel = ReadPattern(fields, "kernel");
  declared.line = ReadPattern(fields, "line");
  declared.pointer = ReadPointer(fields);
  declared.type = fields->Choice("type", kTypes, "float32");
  if (!fields->Has("value")) {
    fields->Report("value", "is required: the number that the host reads");
  }
  declared.value = fields->Number("value", {-1e300, 1e300}, 0);
  if (declared.kernel.empty() && declared.line.empty()) {
    fields->Report("kernel",
                   "or line is required: whose bytes these are, as unknownReadSources of an "
                   "earlier run name them");
  } else if (!declared.line.empty()) {
    const std::size_t colon = declared.line.rfind(':');
    const bool numbered = colon != std::string::npos && colon > 0 &&
                          base::ParseInteger(declared.line.substr(colon + 1)).value_or(0) > 0;
    if (!numbered) fields->Report("line", "must be a file and a line, such as router.py:120");
  }
  fields->Finish();
  return declared;
}

std::uint64_t ReadAmount(Fields* routing, std::string_view name, std::int64_t max,
                         std::string_view what) {
  if (!routing->Has(name)) routing->Report(name, StrCat("is required: ", what));
  return static_cast<std::uint64_t>(routing->Integer(name, {1, max}, 1));
}

void ReadDistribution(Fields* fields, ExpertRouting& routing) {
  routing.file = ReadPattern(fields, "file");
  const std::string distribution = fields->Choice("distribution", {"uniform", "zipf"}, "uniform");
  const double exponent = fields->Number("exponent", {0, 10, true}, 1);
  routing.seed = static_cast<std::uint64_t>(fields->Integer("seed", {0, 1'000'000'000'000}, 0));
  if (distribution == "zipf") {
    routing.zipf_exponent = exponent;
  } else if (fields->Has("exponent")) {
    fields->Report("exponent", "is of distribution: zipf only");
  }
  if (!routing.file.empty() && fields->Has("distribution")) {
    fields->Report("file", "cannot be given together with distribution; keep one of them");
  }
}

DeclaredValue ReadRouting(Fields* fields, bool compute) {
  DeclaredValue declared;
  ExpertRouting routing;
  declared.kernel = ReadPattern(fields, "kernel");
  declared.pointer = ReadPointer(fields);
  declared.type = fields->Choice("type", {"int32", "int64"}, "int64");
  routing.gives_counts = fields->Choice("gives", {"indices", "counts"}, "indices") == "counts";
  routing.experts = ReadAmount(fields, "experts", kExpertsMax, "how many there are in all");
  routing.tokens =
      ReadAmount(fields, "tokens", kRoutedElementsMax, "how many one rank routes at a time");
  routing.top_k = ReadAmount(fields, "topK", kExpertsMax, "how many experts a token goes to");
  ReadDistribution(fields, routing);
  if (routing.top_k > routing.experts) {
    fields->Report("topK", "is more than there are experts");
  }
  if (routing.tokens * routing.top_k > static_cast<std::uint64_t>(kRoutedElementsMax)) {
    fields->Report("tokens", StrCat("times topK must be at most ", kRoutedElementsMax));
  }
  if (!routing.gives_counts && !compute) {
    fields->Report(
        "gives",
        "indices needs computed values, as kernels count them: leave out compute: false, or "
        "declare counts");
  }
  if (declared.kernel.empty() && routing.gives_counts) {
    fields->Report("kernel", "is required with gives: counts: who writes the counts");
  } else if (declared.kernel.empty()) {
    declared.kernel = kTopK;
    if (!declared.pointer) declared.pointer = kTopKIndices;
  }
  declared.routing = std::move(routing);
  fields->Finish();
  return declared;
}

}  // namespace

ValuesSpec ReadValues(Fields* values) {
  ValuesSpec spec;
  const std::string unknown =
      values->Choice("unknownReads", {"plausible", "zero", "one"}, "plausible");
  spec.unknown_reads = unknown == "one"    ? UnknownReads::kOne
                       : unknown == "zero" ? UnknownReads::kZero
                                           : UnknownReads::kPlausible;
  spec.compute = values->Bool("compute", true);
  for (Fields& entry : values->ObjectList("declared")) {
    spec.declared.push_back(ReadDeclared(&entry));
  }
  if (spec.declared.size() > kDeclaredMax) {
    values->Report("declared", StrCat("has more than ", kDeclaredMax, " entries"));
  }
  if (auto routing = values->Object("expertRouting")) {
    spec.declared.push_back(ReadRouting(&*routing, spec.compute));
  }
  values->Finish();
  return spec;
}

std::vector<std::string> TitlesOf(const ValuesSpec& values) {
  std::vector<std::string> titles;
  for (const DeclaredValue& one : values.declared) {
    std::string whose = one.kernel.empty() ? "" : "kernel " + one.kernel;
    if (!one.line.empty()) whose += (whose.empty() ? "line " : ", line ") + one.line;
    if (one.pointer) whose += StrCat(", pointer ", *one.pointer);
    titles.push_back(StrCat(
        one.routing ? "values.expertRouting" : StrCat("values.declared[", titles.size(), "]"), " (",
        whose, ")"));
  }
  return titles;
}

}  // namespace eidolon::controller::job
