// Live ranks are chosen from both ends of a class: two values that lie far apart show whether a
// number grows with the rank. The class of a rank is computed from its positions, so nothing is
// stored for mirrored ranks. Make alone walks over all ranks. Dimensions must divide the job, or
// classes would have different sizes.
#include "services/contract/folding/fold.h"

#include <algorithm>
#include <map>

#include "services/base/text.h"

namespace eidolon::folding {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

// A class for each stage of a pipeline, each half of a mixture; more are a damaged description.
constexpr std::uint64_t kClassesMax = 4096;
constexpr std::size_t kRanksShown = 16;

base::Result<std::uint32_t> CountClasses(const FoldOptions& options) {
  std::uint64_t classes = 1;
  for (const Dimension& dimension : options.dimensions) {
    if (dimension.stride == 0 || dimension.size < 2 ||
        options.ranks % (std::uint64_t{dimension.stride} * dimension.size) != 0) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("a dimension of ", dimension.size, " positions in steps of ",
                         dimension.stride, " ranks does not divide ", options.ranks, " ranks"));
    }
    classes *= dimension.size;
    if (classes > kClassesMax) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("dimensions of more than ", kClassesMax, " classes"));
    }
  }
  return static_cast<std::uint32_t>(classes);
}

}  // namespace

base::Result<Fold> Fold::Make(FoldOptions options) {
  if (options.ranks == 0) return Fail(ErrorCode::kInvalidArgument, "a folded job without ranks");
  if (options.live_per_class == 0) {
    return Fail(ErrorCode::kInvalidArgument, "at least one rank of each class must be live");
  }
  const auto classes = CountClasses(options);
  if (!classes) return std::unexpected(classes.error());
  Fold fold;
  fold.ranks_ = options.ranks;
  fold.classes_ = *classes;
  fold.dimensions_ = std::move(options.dimensions);
  fold.live_ = std::move(options.live);
  fold.live_.push_back(0);
  // Half of a class's limit (rounded up) from below, the rest from above. Ranks that come twice are
  // removed below.
  std::vector<std::uint32_t> taken(fold.classes_, 0);
  const auto take = [&](std::uint32_t rank, std::uint32_t most) {
    std::uint32_t& count = taken[fold.ClassOf(rank)];
    if (count >= most) return;
    ++count;
    fold.live_.push_back(rank);
  };
  const std::uint32_t first = (options.live_per_class + 1) / 2;
  for (std::uint32_t rank = 0; rank < fold.ranks_; ++rank) take(rank, first);
  for (std::uint32_t rank = fold.ranks_; rank-- > 0;) take(rank, options.live_per_class);
  std::ranges::sort(fold.live_);
  fold.live_.erase(std::unique(fold.live_.begin(), fold.live_.end()), fold.live_.end());
  if (fold.live_.back() >= fold.ranks_) {
    return Fail(ErrorCode::kInvalidArgument, StrCat("rank ", fold.live_.back(), " of a job with ",
                                                    fold.ranks_, " ranks cannot be live"));
  }
  return fold;
}

bool Fold::IsLive(std::uint32_t rank) const { return std::ranges::binary_search(live_, rank); }

std::uint32_t Fold::ClassOf(std::uint32_t rank) const {
  std::uint32_t number = 0;
  for (const Dimension& dimension : dimensions_) {
    number = number * dimension.size + dimension.PositionOf(rank);
  }
  return number;
}

std::vector<std::uint32_t> Fold::LiveOn(std::uint32_t server, std::uint32_t per_server) const {
  const auto first = std::ranges::lower_bound(live_, std::uint64_t{server} * per_server);
  const auto last = std::ranges::lower_bound(live_, (std::uint64_t{server} + 1) * per_server);
  return {first, last};
}

std::vector<std::uint32_t> Fold::LiveServers(std::uint32_t per_server) const {
  std::vector<std::uint32_t> servers;
  for (const std::uint32_t rank : live_) {
    const std::uint32_t server = rank / per_server;
    if (servers.empty() || servers.back() != server) servers.push_back(server);
  }
  return servers;
}

std::string Fold::Describe() const {
  std::string shown;
  for (std::size_t i = 0; i < live_.size() && i < kRanksShown; ++i) {
    shown += StrCat(i > 0 ? ", " : "", live_[i]);
  }
  if (live_.size() > kRanksShown) shown += ", ...";
  return StrCat(ranks_, " ranks: ", live_.size(), " live (", shown, "), ", mirrored_ranks(),
                " mirrored", classes_ > 1 ? StrCat(" in ", classes_, " classes") : "");
}

}  // namespace eidolon::folding
