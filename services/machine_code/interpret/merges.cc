// This is what placing phi nodes does for single assignment: where ways meet on which a register
// was last written by different blocks, its content depends on the way. A meeting becomes a writer
// of its own, so that one behind it is not counted again. Calls hide who wrote, hence every place
// merges at a function's entry and where a call may be passed by. If writers do not settle within
// some rounds, every place counts as merging, which is wider than needed and still right.
#include "services/machine_code/interpret/merges.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace eidolon::interpret {
namespace {

constexpr std::uint32_t kUnknown = ~std::uint32_t{0};

// Follows each place's last writer: a block's number, behind these one for each meeting of several
// writers, and one for the start.
class Finder {
 public:
  Finder(const Flow& flow, std::span<const Places> written)
      : flow_(flow), written_(written), before_(flow.blocks().size()) {
    const std::size_t count = flow.blocks().size();
    writers_.assign(count, std::vector<std::uint32_t>(Places().size(), kUnknown));
    merges_.resize(count);
    opaque_.resize(count, false);
    for (std::uint32_t i = 0; i < count; ++i) {
      const FlowBlock& block = flow.blocks()[i];
      for (const std::uint32_t next : block.next) {
        if (next != flow.exit()) before_[next].push_back(i);
        // A call that is passed by, or not.
        if (next != flow.exit() && block.callee != kNoBlock && block.decides) opaque_[next] = true;
      }
      // The block is opaque from wherever it is called.
      if (block.callee != kNoBlock) opaque_[block.callee] = true;
    }
  }

  std::vector<Places> Find() && {
    constexpr int kMostRounds = 64;
    for (int round = 0; round < kMostRounds; ++round) {
      bool changed = false;
      for (std::uint32_t i = 0; i < writers_.size(); ++i) changed = Update(i) || changed;
      if (!changed) return std::move(merges_);
    }
    for (Places& all : merges_) all.set();
    return std::move(merges_);
  }

 private:
  bool Update(std::uint32_t block) {
    bool changed = false;
    const auto count = static_cast<std::uint32_t>(writers_.size());
    for (std::size_t place = 0; place < writers_[block].size(); ++place) {
      std::uint32_t found = block == 0 ? 2 * count : kUnknown;
      bool merges = opaque_[block];
      for (const std::uint32_t from : before_[block]) {
        const std::uint32_t writer = written_[from][place] ? from : writers_[from][place];
        merges = merges || (writer != kUnknown && found != kUnknown && writer != found);
        if (writer != kUnknown) found = writer;
      }
      if (merges) found = count + block;
      merges_[block][place] = merges;
      changed = changed || found != writers_[block][place];
      writers_[block][place] = found;
    }
    return changed;
  }

  const Flow& flow_;
  const std::span<const Places> written_;
  std::vector<std::vector<std::uint32_t>> before_;   // Blocks that lead to each.
  std::vector<std::vector<std::uint32_t>> writers_;  // By block, before it, and place.
  std::vector<Places> merges_;
  std::vector<bool> opaque_;  // What leads there is not told.
};

}  // namespace

std::vector<Places> FindMerges(const Flow& flow, std::span<const Places> written) {
  return Finder(flow, written).Find();
}

}  // namespace eidolon::interpret
