// A declared value replaces one that no kernel computed, and a typing error in it would pass for a
// result of the simulation. So files are read completely before the command starts, and an error
// names the line. Shares become whole numbers here, once, so every rank reads the same ones. The
// generator of ZipfShares is written out, since equal seeds must give equal jobs with every
// library.
#include "services/agent/job/declared_values.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "services/base/regular_file.h"
#include "services/base/text.h"

namespace eidolon::agent::job {
namespace {

namespace v1 = controller::v1;
namespace wire = ::eidolon::ring;
using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

constexpr std::size_t kFileBytesMax = 16 << 20;
// Shares are whole numbers: the largest of a distribution.
constexpr double kWholeShare = 1e9;
constexpr double kShareMax = 4e9;

Result<std::string> ReadWhole(const std::string& path) {
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path, unknown);
  if (!unknown && size > kFileBytesMax) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("the file ", path, " is larger than ", kFileBytesMax, " bytes"));
  }
  return base::ReadRegularFile(path);
}

Result<void> AddShares(const v1::ExpertRouting& in, const std::string& folder,
                       wire::Declaration& out) {
  if (!in.file().empty()) {
    const std::string path = in.file().starts_with('/') ? in.file() : folder + "/" + in.file();
    const auto text = ReadWhole(path);
    if (!text) return std::unexpected(text.error());
    auto shares = ParseShares(*text, in.experts());
    if (!shares) return Fail(shares.error().code, StrCat(path, ": ", shares.error().message));
    out.shares = std::move(*shares);
  } else if (in.zipf_exponent() > 0) {
    out.shares = {ZipfShares(in.experts(), in.zipf_exponent(), in.seed())};
  }
  return {};
}

}  // namespace

Result<std::vector<std::vector<std::uint32_t>>> ParseShares(const std::string& text,
                                                            std::uint64_t experts) {
  std::vector<std::vector<std::uint32_t>> rows;
  std::size_t number = 0;
  for (std::string_view line : base::Split(text, '\n')) {
    ++number;
    const auto bad = [&](const std::string& what) {
      return Fail(ErrorCode::kInvalidArgument, StrCat("line ", number, " ", what));
    };
    if (line.starts_with('#')) continue;
    std::vector<double> values;
    while (true) {
      const std::size_t begin = line.find_first_not_of(", \t\r;");
      if (begin == std::string_view::npos) break;
      line.remove_prefix(begin);
      const std::string_view word = line.substr(0, line.find_first_of(", \t\r;"));
      line.remove_prefix(word.size());
      const auto value = base::ParseNumber(word);
      if (!value || *value < 0 || *value > kShareMax) {
        return bad(StrCat("has '", word.substr(0, 40), "', which is not a count of tokens"));
      }
      values.push_back(*value);
      if (values.size() > experts) break;
    }
    if (values.empty()) continue;
    if (values.size() != experts) {
      return bad(StrCat("must have a number for each of the ", experts, " experts"));
    }
    const bool whole = std::ranges::all_of(values, [](double v) { return v == std::floor(v); });
    const double largest = *std::ranges::max_element(values);
    if (largest <= 0) return bad("has no token for any expert");
    std::vector<std::uint32_t> row;
    for (const double value : values) {
      row.push_back(
          static_cast<std::uint32_t>(std::llround(whole ? value : value / largest * kWholeShare)));
    }
    rows.push_back(std::move(row));
    if (rows.size() > wire::kShareRowsMax) {
      return bad(StrCat("is one too many: at most ", wire::kShareRowsMax, " are allowed"));
    }
  }
  if (rows.empty()) return Fail(ErrorCode::kInvalidArgument, "it has no line of numbers");
  return rows;
}

std::vector<std::uint32_t> ZipfShares(std::uint64_t experts, double exponent, std::uint64_t seed) {
  std::vector<std::uint32_t> shares(experts);
  for (std::uint64_t rank = 0; rank < experts; ++rank) {
    const double share = kWholeShare / std::pow(static_cast<double>(rank + 1), exponent);
    shares[rank] = static_cast<std::uint32_t>(std::max(std::llround(share), 1LL));
  }
  // Fisher and Yates, by a generator of Knuth's (MMIX).
  std::uint64_t state = seed;
  for (std::uint64_t i = experts; i > 1; --i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::swap(shares[i - 1], shares[(state >> 33) % i]);
  }
  return shares;
}

Result<std::vector<wire::Declaration>> DeclarationsOf(const v1::Assignment& assignment) {
  std::vector<wire::Declaration> all;
  for (const v1::DeclaredValue& in : assignment.declared_values()) {
    const auto type = wire::ElementTypeOf(in.type());
    if (!type) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("'", in.type(), "' is not a type of elements"));
    }
    wire::Declaration out{.number = in.number(),
                          .type = *type,
                          .pointer = in.any_pointer() ? -1 : static_cast<int>(in.pointer()),
                          .kernel = in.kernel(),
                          .line = in.line(),
                          .value = in.value()};
    if (in.has_routing()) {
      const v1::ExpertRouting& routing = in.routing();
      out.kind =
          routing.gives_counts() ? wire::DeclarationKind::kCounts : wire::DeclarationKind::kIndices;
      out.experts = routing.experts();
      out.tokens = routing.tokens();
      out.top_k = routing.top_k();
      out.seed = routing.seed();
      if (auto added = AddShares(routing, assignment.working_directory(), out); !added) {
        return Fail(added.error().code, StrCat("values.expertRouting: ", added.error().message));
      }
    }
    all.push_back(std::move(out));
  }
  return all;
}

Result<void> WriteDeclarations(const v1::Assignment& assignment) {
  if (assignment.declared_values().empty()) return {};
  const auto declarations = DeclarationsOf(assignment);
  if (!declarations) return std::unexpected(declarations.error());
  const std::string path = StrCat(assignment.run_directory(), "/", wire::kDeclarationsFile);
  std::ofstream file(path, std::ios::binary);
  file << wire::PrintDeclarations(*declarations);
  file.close();
  if (!file) return Fail(ErrorCode::kUnavailable, StrCat("the file ", path, " cannot be written"));
  return {};
}

}  // namespace eidolon::agent::job
