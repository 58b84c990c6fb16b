#include "shim/pytorch/gloo/job_fold.h"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include "services/base/text.h"

namespace eidolon::shim::gloo {
namespace {

using base::StrCat;

std::optional<std::uint32_t> Number(std::string_view text) {
  const auto number = base::ParseInteger(text);
  if (!number.has_value() || *number < 0 || *number > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

std::unexpected<base::Error> NoFold(std::string_view what, std::string_view text) {
  return base::Fail(base::ErrorCode::kInvalidArgument, StrCat(what, " '", text, "'"));
}

}  // namespace

base::Result<folding::Fold> ReadFold(std::string_view fold, std::string_view live) {
  folding::FoldOptions options{.live_per_class = 1};
  bool is_first = true;
  for (const std::string_view word : base::Split(fold, ' ')) {
    const std::size_t colon = word.find(':');
    const auto first = Number(word.substr(0, colon));
    if (std::exchange(is_first, false)) {
      if (!first || colon != word.npos) return NoFold("no number of ranks in", fold);
      options.ranks = *first;
      continue;
    }
    const auto size = colon == word.npos ? std::nullopt : Number(word.substr(colon + 1));
    if (!first || !size) return NoFold("no dimension of ranks:", word);
    options.dimensions.push_back({.stride = *first, .size = *size});
  }
  for (const std::string_view word : base::Split(live, ',')) {
    const auto rank = Number(word);
    if (!rank) return NoFold("no rank:", word);
    options.live.push_back(*rank);
  }
  return folding::Fold::Make(std::move(options));
}

const folding::Fold& JobFold() {
  static const folding::Fold* const fold = [] {
    const char* const text = std::getenv("EIDOLON_FOLD");
    const char* const live = std::getenv("EIDOLON_LIVE_RANKS");
    auto read = text == nullptr || live == nullptr ? folding::Fold() : ReadFold(text, live);
    return new folding::Fold(read ? std::move(*read) : folding::Fold());
  }();
  return *fold;
}

}  // namespace eidolon::shim::gloo
