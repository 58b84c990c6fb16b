// A launch may have millions of blocks, of which the budget of steps allows few, so the sample has
// to show what the others do. The grid's corners show how far it reaches in memory, which blocks
// touch the same, and whether those at one end of a side have more to do. Blocks spread over the
// grid give the means. Where work grows evenly along a side, as under a causal mask, every count is
// a line by least squares, so means of whichever blocks were run become those of the middle by
// weights that depend on places alone (growth.h). Neighbours in a row show what blocks share where
// L2 does not hold everything.
//
// No block may use more than half of the steps that are left, so that one without an end cannot
// take them all. A block that was cut short gives no counts. Where corners are too long, means of
// the shorter blocks would be too low without a sign of it, hence the launch is refused unless a
// line foretells the longer ones.
#include "services/timing/count/count.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/contract/machine/machine.h"
#include "services/machine_code/interpret/run.h"
#include "services/timing/count/count_watch.h"
#include "services/timing/count/grid_places.h"
#include "services/timing/count/growth.h"
#include "services/timing/count/launch_memory.h"
#include "services/timing/count/residency.h"
#include "services/timing/count/sharing.h"

namespace eidolon::timing::count {
namespace {

using interpret::Stop;

// Blocks spread over the grid: as many as the limit allows, within these.
constexpr std::uint64_t kLeastSpread = 4, kMostSpread = 24;
// Mean and spread of so many blocks are looked at before more are run.
constexpr std::uint64_t kFirstSpread = 6;
constexpr double kAlike = 0.02;
constexpr double kMuchLonger = 2;  // Than other blocks of the grid.

// Calls visit(number of a, that of b) for every count of a block.
template <typename Visit>
void EachNumber(BlockCounts& a, const BlockCounts& b, Visit&& visit) {
  for (std::size_t i = 0; i < kPipes; ++i) visit(a.issued[i], b.issued[i]);
  for (std::size_t i = 0; i < kMatrixTypes; ++i) {
    visit(a.matrix_operations[i], b.matrix_operations[i]);
  }
  for (const auto number :
       {&BlockCounts::group_matrix_operations, &BlockCounts::lane_operations,
        &BlockCounts::shared_wavefronts, &BlockCounts::line_requests, &BlockCounts::missed_lines,
        &BlockCounts::missed_sectors, &BlockCounts::again_sectors, &BlockCounts::again_distance,
        &BlockCounts::first_sectors, &BlockCounts::engine_bytes, &BlockCounts::atomics,
        &BlockCounts::colliding_atomics, &BlockCounts::atomic_rounds, &BlockCounts::barriers,
        &BlockCounts::code_lines, &BlockCounts::clocks, &BlockCounts::far_clocks,
        &BlockCounts::matrix_warps}) {
    visit(a.*number, b.*number);
  }
}

struct BlockRun {
  std::uint64_t block = 0;
  BlockCounts counts;
  std::map<RegionUse, RegionTouched> regions;
  Stop stop = Stop::kNone;
};

// A mean of runs that count so much.
BlockCounts Weighted(const std::vector<BlockRun>& runs, const std::vector<double>& weights) {
  BlockCounts sum;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double weight = weights[i];
    EachNumber(sum, runs[i].counts, [weight](double& to, double number) { to += weight * number; });
  }
  const auto count = static_cast<double>(runs.size());
  // What falls along a side may come to less than nothing at its end.
  EachNumber(sum, sum, [count](double& to, double) { to = std::max(to, 0.0) / count; });
  return sum;
}

class Sampler {
 public:
  Sampler(const KernelCode& code, const kernel::KernelLaunch& launch,
          const gpu_model::GpuModel& gpu, const CountLimits& limits)
      : launch_(launch),
        places_({std::max(1u, launch.grid.x), std::max(1u, launch.grid.y),
                 std::max(1u, launch.grid.z)}),
        parameters_(WithAddresses(launch.parameters)),
        resident_(ResidentBlocks(launch, gpu)),
        watch_(code.program, CachedBytes(launch, gpu, resident_),
               launch.static_shared_bytes + launch.dynamic_shared_bytes),
        pairs_(std::ranges::any_of(code.program.steps, IsOfBlockPair)),
        steps_left_(limits.warp_steps),
        held_bytes_(machine::kHeldShare * static_cast<double>(gpu.l2_bytes)) {
    blocks_ = std::max<std::uint64_t>(1, launch.grid.Count());
    at_once_ = std::min(blocks_, static_cast<std::uint64_t>(resident_ * gpu.multiprocessors));
  }

  base::Result<Counts> Count() {
    RunCorners();
    if (long_side_) RunShorter();
    const bool grows = FindGrowth();
    if (!grows && !too_long_.empty() && !corners_.empty()) {
      return base::Fail(base::ErrorCode::kUnsupported,
                        base::StrCat("some blocks of '", launch_.name,
                                     "' are too long, and nothing tells by how much"));
    }
    if (!grows) {
      RunSpread();
      FindGrowth();
    }
    if (spread_.empty()) {
      return base::Fail(base::ErrorCode::kUnsupported,
                        base::StrCat("no block of '", launch_.name,
                                     "' could be run to its end: ", Reason(stop_)));
    }
    RunNeighbours();
    return Sum();
  }

 private:
  // Runs one block; false when it told nothing.
  bool RunBlock(std::uint64_t block, std::byte content, BlockRun& run,
                SectorSet* together = nullptr) {
    LaunchMemory memory(content);
    interpret::Launch launch;
    launch.grid = {launch_.grid.x, launch_.grid.y, launch_.grid.z};
    launch.block = {launch_.block.x, launch_.block.y, launch_.block.z};
    launch.dynamic_shared_bytes = launch_.dynamic_shared_bytes;
    launch.reaches_system_words = true;
    launch.parameters = std::as_bytes(std::span(parameters_));
    launch.blocks = std::span(&block, 1);
    watch_.BeginBlock(&run.regions, together);
    const std::uint64_t most = std::max<std::uint64_t>(steps_left_ / 2, 1);
    const auto outcome =
        interpret::Run(watch_.program(), launch, memory, {.warp_steps = most}, workspace_);
    run.block = block;
    run.counts = watch_.EndBlock();
    run.stop = outcome.stop;
    const auto used = static_cast<std::uint64_t>(run.counts.instructions());
    steps_left_ -= std::min(steps_left_, used);
    if (outcome.stop != Stop::kNone) stop_ = outcome.stop;
    return outcome.stop == Stop::kNone;
  }

  static std::string_view Reason(Stop stop) {
    switch (stop) {
      case Stop::kFault:
        return "its addresses follow from what memory holds";
      case Stop::kDeadlock:
        return "its warps wait for what nobody does here";
      case Stop::kTrap:
        return "it ends itself";
      default:
        return "it is too long, or waits for other blocks";
    }
  }

  // They show how far the launch reaches; blocks at the grid's end may be shorter than others.
  void RunCorners() {
    const auto& grid = launch_.grid;
    std::set<std::uint64_t> corners;
    for (unsigned corner = 0; corner < 8; ++corner) {
      corners.insert(places_.IndexOf((corner & 1) != 0 ? grid.x - 1 : 0,
                                     (corner & 2) != 0 ? grid.y - 1 : 0,
                                     (corner & 4) != 0 ? grid.z - 1 : 0));
    }
    corners.insert(at_once_ - 1);
    for (const std::uint64_t block : corners) {
      if (steps_left_ == 0) return;
      if (long_side_ && places_.PlaceOf(block, *long_side_) == long_place_) continue;
      BlockRun run;
      const double limit = static_cast<double>(steps_left_ / 2);
      if (RunBlock(block, content_, run)) {
        corners_.push_back(std::move(run));
        if (corners_.size() == 1) AskOfMemory(corners_.front());
      } else if (stop_ == Stop::kLimit && limit > kMuchLonger * LongestRun()) {
        too_long_.push_back(block);
      }
      if (!long_side_) FindLongSide();
    }
  }

  // Two corners with one side between them, of which one is too long, or so long that few such
  // blocks can be run.
  void FindLongSide() {
    const double few = static_cast<double>(steps_left_) / 8;
    for (const BlockRun& shorter : corners_) {
      const double least = std::max(few, kMuchLonger * shorter.counts.instructions());
      std::vector<std::uint64_t> longer = too_long_;
      for (const BlockRun& run : corners_) {
        if (run.counts.instructions() > least) longer.push_back(run.block);
      }
      for (const std::uint64_t block : longer) {
        long_side_ = places_.SideBetween(block, shorter.block);
        if (!long_side_) continue;
        long_place_ = places_.PlaceOf(block, *long_side_);
        short_work_ = shorter.counts.instructions();
        return;
      }
    }
  }

  // Blocks from the side's other end on, each twice as far from it as the one before.
  void RunShorter() {
    const unsigned side = *long_side_;
    const std::uint64_t steps = places_.StepsOf(side);
    for (std::uint64_t far = 1; far < steps; far *= 2) {
      const double before = spread_.empty() ? 0 : spread_.back().counts.instructions();
      if (static_cast<double>(steps_left_) < 4 * before) return;
      const std::uint64_t spread = Spread(std::bit_width(far));
      const std::uint64_t place = long_place_ > 0 ? far : steps - 1 - far;
      const std::uint64_t block = spread - places_.PlaceOf(spread, side) * places_.PeriodOf(side) +
                                  place * places_.PeriodOf(side);
      BlockRun run;
      if (!RunBlock(block, content_, run)) return;
      spread_.push_back(std::move(run));
      const double each = spread_.front().counts.instructions() - short_work_;
      const double foretold = short_work_ + static_cast<double>(far) * each;
      // Another law, or only the last block is shorter: nothing is learned from more of them.
      constexpr double kClose = 0.1;
      if (std::abs(spread_.back().counts.instructions() - foretold) > kClose * foretold) return;
    }
  }

  // Where blocks have more to do along a side, means are those of its middle, whichever were run.
  bool FindGrowth() {
    weights_.assign(spread_.size(), 1);
    if (blocks_ <= corners_.size() || pairs_) return false;
    std::vector<BlockRun> all = corners_;
    std::ranges::copy(spread_, std::back_inserter(all));
    for (unsigned side = 0; side < 3; ++side) {
      std::vector<BlockWork> works;
      for (const BlockRun& run : all) {
        works.push_back({.place = static_cast<double>(places_.PlaceOf(run.block, side)),
                         .work = run.counts.instructions()});
      }
      const auto steps = static_cast<double>(places_.StepsOf(side));
      const auto growth = GrowthOf(works, steps, static_cast<double>(places_.PeriodOf(side)));
      if (!growth) continue;
      growth_ = *growth;
      spread_ = std::move(all);
      weights_ = WeightsAt(works, (steps - 1) / 2);
      longest_ = Weighted(spread_, WeightsAt(works, growth_.last > growth_.first ? steps - 1 : 0));
      return true;
    }
    return false;
  }

  // Blocks that fall everywhere, whatever the grid's sides are: along each of these by multiples of
  // an irrational number of its own (Roberts, "The Unreasonable Effectiveness of Quasirandom
  // Sequences", 2018), because what a block has to do may grow along one of them.
  std::uint64_t Spread(std::uint64_t index) const {
    const auto along = [index](double step, std::uint64_t side) {
      const double place = static_cast<double>(index) * step + 0.5;
      const double share = place - std::floor(place);
      return std::min(side - 1, static_cast<std::uint64_t>(share * static_cast<double>(side)));
    };
    const auto& grid = launch_.grid;
    const std::uint64_t block =
        places_.IndexOf(along(0.6180339887498949, grid.x), along(0.7548776662466927, grid.y),
                        along(0.8191725133961645, grid.z));
    return pairs_ && grid.x % 2 == 0 ? block / 2 * 2 + index % 2 : block;
  }

  void RunSpread() {
    spread_.clear();
    if (blocks_ <= corners_.size()) {
      spread_ = corners_;
      return;
    }
    const std::uint64_t most = std::min(kMostSpread, blocks_);
    for (std::uint64_t i = 0; i < most; ++i) {
      if (i >= kFirstSpread && AreAlike()) break;
      // Not at one that is too long: only shorter ones would be left.
      if (i >= kLeastSpread && static_cast<double>(steps_left_) < 2 * LongestRun()) break;
      if (steps_left_ == 0) break;
      BlockRun run;
      if (!RunBlock(Spread(i), content_, run)) break;
      spread_.push_back(std::move(run));
    }
    if (spread_.empty()) spread_ = corners_;
  }

  // Instructions of the longest block so far.
  double LongestRun() const {
    double longest = 0;
    for (const auto* runs : {&corners_, &spread_}) {
      for (const BlockRun& run : *runs) longest = std::max(longest, run.counts.instructions());
    }
    return longest;
  }

  bool AreAlike() const {
    double least = spread_.empty() ? 0 : spread_[0].counts.instructions();
    double most = least;
    for (const BlockRun& run : spread_) {
      least = std::min(least, run.counts.instructions());
      most = std::max(most, run.counts.instructions());
    }
    return most - least <= kAlike * most;
  }

  // Determines whether other content of memory would lead to other counts. Where the block accesses
  // the same, memory holds numbers, and ordinary ones from here on: divisions of zero, for one,
  // leave the usual path.
  void AskOfMemory(BlockRun& known) {
    constexpr std::byte kNumbers{0x3f};  // 0.75 in single precision and bf16.
    if (known.counts.instructions() > static_cast<double>(steps_left_) / 4) return;
    BlockRun other;
    const bool ran = RunBlock(known.block, kNumbers, other);
    const bool is_same = ran && other.regions == known.regions &&
                         other.counts.missed_sectors == known.counts.missed_sectors;
    depends_ = !is_same || other.counts.issued != known.counts.issued;
    places_known_ = is_same;
    if (!is_same) return;
    content_ = kNumbers;
    known = std::move(other);
  }

  // Measures what blocks in a row share: of so many of them, the second half brings less than the
  // first when they do. Only where it matters: where blocks share, and L2 does not hold all that
  // they touch.
  void RunNeighbours() {
    constexpr std::uint64_t kMostNeighbours = 2048;
    constexpr double kShared = 1.1;
    double once = 0;
    for (const auto& [use, bytes] : BytesOf(static_cast<double>(blocks_), blocks_)) once += bytes;
    const double asked = Weighted(spread_, weights_).missed_sectors * machine::kSectorBytes *
                         static_cast<double>(blocks_);
    if (once <= held_bytes_ || asked <= kShared * once) return;
    const auto each = static_cast<std::uint64_t>(spread_.front().counts.instructions()) + 1;
    const std::uint64_t most = std::min({kMostNeighbours, blocks_, steps_left_ / each / 2});
    if (most < 2) return;
    const std::uint64_t count = std::bit_floor(most);
    const std::uint64_t first = (blocks_ - count) / 2;
    SectorSet together;
    double half = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (i == count / 2) half = static_cast<double>(together.size());
      BlockRun run;
      if (!RunBlock(first + i, content_, run, &together)) return;
    }
    const auto all = static_cast<double>(together.size());
    neighbour_bytes_ = (all - half) / static_cast<double>(count / 2) * machine::kSectorBytes;
    first_bytes_ = half * machine::kSectorBytes;
  }

  // Returns, for so many blocks in a row, sectors of a region at most, where blocks along a side
  // touch the same ones: corners at both ends of the side show it.
  double SharedSectors(const RegionUse& use, double blocks) const {
    std::array<bool, 3> shared{}, apart{};
    double most = 0;
    for (const BlockRun& one : corners_) {
      const auto touched = one.regions.find(use);
      if (touched == one.regions.end()) continue;
      most = std::max(most, touched->second.sectors);
      for (const BlockRun& other : corners_) {
        const auto there = other.regions.find(use);
        const auto side = places_.SideBetween(one.block, other.block);
        if (!side || there == other.regions.end()) continue;
        const bool is_same = TouchTheSame(touched->second, there->second);
        (is_same ? shared : apart)[*side] = true;
      }
    }
    std::array<double, 3> sides{};
    for (unsigned side = 0; side < 3; ++side) {
      sides[side] = static_cast<double>(places_.StepsOf(side));
      shared[side] = shared[side] && !apart[side];
    }
    if (std::ranges::count(shared, true) == 0) return std::numeric_limits<double>::infinity();
    return most * DifferentBlocks(blocks, sides, shared);
  }

  // Bytes of device memory that so many blocks touch: as many as each of them does, or less where
  // they share them. `within`: runs of these blocks tell how far they reach.
  std::map<RegionUse, double> BytesOf(double blocks, std::uint64_t within) const {
    std::map<RegionUse, RegionTouched> reach;
    for (const auto* runs : {&corners_, &spread_}) {
      for (const BlockRun& run : *runs) {
        if (run.block >= within) continue;
        for (const auto& [use, touched] : run.regions) {
          RegionTouched& all = reach[use];
          all.least = std::min(all.least, touched.least);
          all.most = std::max(all.most, touched.most);
          all.sectors = std::max(all.sectors, touched.sectors);
        }
      }
    }
    std::map<RegionUse, double> bytes;
    for (const auto& [use, all] : reach) {
      double each = 0;
      for (std::size_t i = 0; i < spread_.size(); ++i) {
        const auto found = spread_[i].regions.find(use);
        if (found != spread_[i].regions.end()) each += weights_[i] * found->second.sectors;
      }
      each /= static_cast<double>(spread_.size());
      if (each <= 0) each = all.sectors / blocks;  // Corners alone.
      const double reached = static_cast<double>(all.most - all.least) + 1;
      const double asked = std::min(each * blocks, SharedSectors(use, blocks));
      bytes[use] = std::min(asked, std::max(reached, all.sectors)) * machine::kSectorBytes;
    }
    return bytes;
  }

  bool HasAtomics(const RegionUse& use) const {
    const auto has = [&use](const BlockRun& run) {
      const auto found = run.regions.find(use);
      return found != run.regions.end() && found->second.atomic;
    };
    return std::ranges::any_of(corners_, has) || std::ranges::any_of(spread_, has);
  }

  Counts Sum() const {
    Counts counts;
    counts.block = Weighted(spread_, weights_);
    counts.growth = growth_;
    counts.longest_clocks = longest_.clocks;
    counts.longest_far_clocks = longest_.far_clocks;
    counts.blocks = static_cast<double>(blocks_);
    counts.warps = std::ceil(static_cast<double>(launch_.block.Count()) / machine::kWarpLanes);
    counts.resident_blocks = resident_;
    for (const auto& [use, bytes] : BytesOf(counts.blocks, blocks_)) {
      (use.second ? counts.bytes_written : counts.bytes_read) += bytes;
    }
    for (const auto& [use, bytes] : BytesOf(static_cast<double>(at_once_), at_once_)) {
      counts.bytes_at_once += bytes;
      if (places_known_ && HasAtomics(use)) counts.atomic_bytes_at_once += bytes;
    }
    // Without neighbours that could be run, no block shares anything.
    const double asked = counts.block.missed_sectors * machine::kSectorBytes * counts.blocks;
    counts.bytes_in_order = neighbour_bytes_
                                ? std::min(asked, first_bytes_ + *neighbour_bytes_ * counts.blocks)
                                : asked;
    for (const auto* runs : {&corners_, &spread_}) {
      for (const BlockRun& run : *runs) {
        if (run.counts.clocks <= counts.longest_clocks) continue;
        counts.longest_clocks = run.counts.clocks;
        counts.longest_far_clocks = run.counts.far_clocks;
      }
    }
    counts.sampled_blocks = static_cast<double>(corners_.size() + spread_.size());
    counts.code_lines = watch_.CodeLines();
    counts.passed_over = watch_.PassedOver();
    counts.depends_on_memory = depends_;
    return counts;
  }

  const kernel::KernelLaunch& launch_;
  const GridPlaces places_;
  const std::string parameters_;
  const double resident_;
  CountWatch watch_;
  const bool pairs_;  // Of blocks that follow each other, only the first multiplies for both.
  interpret::Workspace workspace_;
  std::uint64_t steps_left_;
  const double held_bytes_;
  std::uint64_t blocks_ = 1;
  std::uint64_t at_once_ = 1;
  std::vector<BlockRun> corners_;
  std::vector<BlockRun> spread_;
  std::vector<double> weights_;  // Of these in what stands for all blocks.
  std::vector<std::uint64_t> too_long_;
  // Along it blocks are too long, from one end to `long_place_`.
  std::optional<unsigned> long_side_;
  std::uint64_t long_place_ = 0;
  double short_work_ = 0;  // Instructions of the block at the other end.
  Growth growth_;
  BlockCounts longest_;                    // Of the block at the side's end.
  std::optional<double> neighbour_bytes_;  // That one more block in a row brings.
  double first_bytes_ = 0;                 // Of the row's first half.
  Stop stop_ = Stop::kNone;                // Why the last block that ended early did.
  bool depends_ = false;
  bool places_known_ = false;  // What blocks access does not follow from what memory holds.
  std::byte content_{0};       // Of memory, each byte.
};

}  // namespace

base::Result<Counts> CountLaunch(const KernelCode& code, const kernel::KernelLaunch& launch,
                                 const gpu_model::GpuModel& gpu, const CountLimits& limits) {
  return Sampler(code, launch, gpu, limits).Count();
}

}  // namespace eidolon::timing::count
