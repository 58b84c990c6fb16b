// This is an abstract interpretation: each block of the flow has a state with the origins of all
// registers before it, blocks are applied to states, and states merge where ways meet, until
// nothing changes. Origins only grow when they merge (Either), and there are finitely many, so this
// ends. A target that is missed would be wrong, one too many is only imprecise: in doubt an origin
// gets one more possibility.
//
// Beside the origin, `values` says what memory's content may change. It spreads in three ways, of
// which data flow is the easy one. A branch that values decide makes everything between it and its
// meeting depend on them (decided_), since it may not happen. A register that was written on one
// way and not on the other depends on them behind the meeting although nothing it was made of does
// (chosen_, merges.h). Both make more branches depend on values, so Follow alternates data flow
// (Settle) and branches (MarkDecided) to a common fixed point. A function's effects return to each
// caller with only the places that it writes; all callers share its state, which is wider than
// needed and needs no copy for each call.
#include "services/machine_code/interpret/stores.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <map>
#include <optional>
#include <set>

#include "services/machine_code/interpret/bars.h"
#include "services/machine_code/interpret/constant_origins.h"
#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/flow.h"
#include "services/machine_code/interpret/merges.h"
#include "services/machine_code/interpret/operation_kinds.h"
#include "services/machine_code/interpret/origin.h"
#include "services/machine_code/interpret/origin_state.h"
#include "services/machine_code/interpret/origin_sum.h"
#include "services/machine_code/interpret/outline.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

// A call of a function of the kernel's.
struct Call {
  OriginState before;
  Places written;                   // By the function.
  std::vector<std::uint32_t> ends;  // Its blocks that return, in order.
};

// Kinds of values that differ.
enum class Varying : std::uint8_t {
  kMemory,   // What memory holds.
  kThreads,  // That, and whatever tells threads apart.
};

class Follower {
 public:
  Follower(const Program& program, std::span<const std::uint32_t> pointers,
           const LaunchFacts& facts, Varying varying)
      : program_(program),
        constants_(program, pointers),
        flow_(program, facts.decisions),
        shape_(facts.shape),
        traces_(facts.traces),
        varying_(varying) {
    for (const Step& step : program.steps) uses_.push_back(FollowedUseOf(step));
    states_.resize(flow_.blocks().size());
    decided_.resize(flow_.blocks().size(), false);
    chosen_.resize(flow_.blocks().size());
    for (std::uint32_t i = 0; i < flow_.blocks().size(); ++i) {
      if (flow_.blocks()[i].callee == kNoBlock) continue;
      Call& call = calls_[i];
      for (const std::uint32_t one : flow_.BodyOf(flow_.blocks()[i].callee)) {
        call.written |= WrittenIn(one);
        if (flow_.blocks()[one].returns) call.ends.push_back(one);
      }
      std::ranges::sort(call.ends);
    }
    std::vector<Places> written;
    for (std::uint32_t i = 0; i < flow_.blocks().size(); ++i) {
      written.push_back(WrittenIn(i));
      if (const auto call = calls_.find(i); call != calls_.end())
        written[i] |= call->second.written;
    }
    merges_ = FindMerges(flow_, written);
  }

  std::vector<StoreSite> Sites() {
    if (program_.steps.empty()) return {};
    Follow();
    std::vector<StoreSite> sites;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (!states_[i].reached) continue;
      OriginState state = Start(i);
      for (std::uint32_t at = flow_.blocks()[i].begin; at < flow_.blocks()[i].end; ++at) {
        if (WritesGlobal(program_.steps[at].operation)) sites.push_back(SiteOf(at, state));
        Apply(at, state);
      }
    }
    std::vector<bool> by_values;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      by_values.push_back(states_[i].reached && flow_.blocks()[i].decides && IsDecided(i));
    }
    for (StoreSite& site : sites) {
      site.barred = site.depends && IsBarred(flow_, by_values, traces_, site.step);
    }
    return sites;
  }

  std::vector<std::uint32_t> SteadyBranches() {
    if (program_.steps.empty()) return {};
    Follow();
    std::vector<bool> called(flow_.blocks().size(), false);
    for (const auto& [caller, call] : calls_) {
      for (const std::uint32_t one : flow_.BodyOf(flow_.blocks()[caller].callee))
        called[one] = true;
    }
    std::vector<std::uint32_t> steady;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      const FlowBlock& block = flow_.blocks()[i];
      if (!states_[i].reached || called[i]) continue;
      AddSteadyLoads(i, steady);
      if (!block.decides) continue;
      if (!IsPlainWay(program_.steps[block.end - 1]) || flow_.IsInLoop(i) || IsDecided(i)) continue;
      steady.push_back(block.end - 1);
    }
    return steady;
  }

 private:
  void Follow() {
    states_[0].Start();
    do {
      changed_ = false;
      Settle();
      MarkDecided();
    } while (changed_);
  }

  void Settle() {
    // The order is that of the code, which is nearly that of running.
    std::set<std::uint32_t> open;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      if (states_[i].reached) open.insert(i);
    }
    while (!open.empty()) {
      const std::uint32_t block = *open.begin();
      open.erase(open.begin());
      OriginState state = Start(block);
      for (std::uint32_t at = flow_.blocks()[block].begin; at < flow_.blocks()[block].end; ++at) {
        Apply(at, state);
      }
      Pass(block, state, open);
    }
  }

  // Brings what holds behind a block to the blocks that follow it.
  void Pass(std::uint32_t block, const OriginState& state, std::set<std::uint32_t>& open) {
    const FlowBlock& from = flow_.blocks()[block];
    const auto merge = [&](std::uint32_t next, const OriginState& what) {
      if (next != flow_.exit() && states_[next].Merge(what)) open.insert(next);
    };
    if (from.callee != kNoBlock) {
      Call& call = calls_[block];
      call.before.Merge(state);
      merge(from.callee, state);
      for (const std::uint32_t end : call.ends) {
        if (states_[end].reached) open.insert(end);
      }
      const Step& step = program_.steps[from.end - 1];
      const bool always = GuardOfStep(step) == 0;
      if (always) return;  // The way behind it is by its function's returns.
    }
    for (const std::uint32_t next : from.next) merge(next, state);
    if (!from.returns) return;
    for (const auto& [caller, call] : calls_) {
      if (!call.before.reached || !std::ranges::binary_search(call.ends, block)) continue;
      OriginState behind = call.before;
      behind.Take(state, call.written);
      for (const std::uint32_t next : flow_.blocks()[caller].next) merge(next, behind);
    }
  }

  // Blocks behind a branch that values decide.
  void MarkDecided() {
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
      const FlowBlock& block = flow_.blocks()[i];
      if (!states_[i].reached || !block.decides || !IsDecided(i)) continue;
      const std::vector<std::uint32_t> between = flow_.DecidedBy(i);
      Places written;
      for (const std::uint32_t one : between) {
        changed_ = changed_ || !decided_[one];
        decided_[one] = true;
        written |= WrittenIn(one);
      }
      for (const std::uint32_t one : flow_.ChosenBy(i)) Choose(one, written);
      if (flow_.MeetingOf(i) != flow_.exit()) Choose(flow_.MeetingOf(i), written);
    }
  }

  // Values decide which way this block, which has several, leads on.
  bool IsDecided(std::uint32_t number) {
    const FlowBlock& block = flow_.blocks()[number];
    OriginState state = Start(number);
    for (std::uint32_t at = block.begin; at + 1 < block.end; ++at) Apply(at, state);
    const Step& last = program_.steps[block.end - 1];
    const DataUse& use = uses_[block.end - 1];
    bool values = state.AreDecided(use.predicates_read | GuardOf(last));
    for (unsigned s = 0; s < use.source_count; ++s) {
      const bool indirect = last.operation == Operation::kBrx || last.operation == Operation::kBrxu;
      values = values || (indirect && Of(use.sources[s], state, 0).values);
    }
    return values;
  }

  // Loads under guards that values do not decide.
  void AddSteadyLoads(std::uint32_t number, std::vector<std::uint32_t>& steady) {
    const FlowBlock& block = flow_.blocks()[number];
    OriginState state = Start(number);
    for (std::uint32_t at = block.begin; at + 1 < block.end; ++at) {
      const Step& step = program_.steps[at];
      const bool is_guarded = ReadsGlobal(step.operation) && GuardOfStep(step) != 0;
      if (is_guarded && !state.AreDecided(GuardOf(step)) && !flow_.IsInLoop(number)) {
        steady.push_back(at);
      }
      Apply(at, state);
    }
  }

  // Where ways meet that values choose from, what was written on them is one thing or another.
  void Choose(std::uint32_t block, const Places& written) {
    const Places chosen = written & merges_[block];
    if (!flow_.blocks()[block].joins || (chosen & ~chosen_[block]).none()) return;
    chosen_[block] |= chosen;
    changed_ = true;
  }

  Places WrittenIn(std::uint32_t block) const {
    Places result;
    for (std::uint32_t at = flow_.blocks()[block].begin; at < flow_.blocks()[block].end; ++at) {
      result |= WrittenBy(uses_[at]);
    }
    return result;
  }

  OriginState Start(std::uint32_t block) {
    OriginState state = states_[block];
    decided_now_ = decided_[block];
    const Places& chosen = chosen_[block];
    if (chosen.none()) return state;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i]) state.MarkValues(i);
    }
    return state;
  }

  static Origin Place(const OriginState& state, std::uint16_t place, unsigned word = 0) {
    if (place == kNowhere) return kZero;
    return place + word < kPlaces ? state.Read(place + word) : kNeither;
  }

  Origin Of(const DataSource& source, const OriginState& state, unsigned word) const {
    switch (source.kind) {
      case DataSource::Kind::kPlace:
        return Place(state, source.place, word);
      case DataSource::Kind::kConstant:
        return constants_.At(source.bank, source.number + 4 * word);
      case DataSource::Kind::kFixed:
        return {.ways = kFromNeither, .bounds = Bounds::Exactly(source.number)};
    }
    return kNeither;
  }

  // `word`: of a result of two.
  Origin Computed(const Step& step, const DataUse& use, const OriginState& state,
                  unsigned word) const {
    const bool pairs = step.operation == Operation::kUiadd3Wide;
    const auto value = [&](unsigned i) {
      const bool upper = word != 0 && (pairs || use.sources[i].slot == 'C');
      return Of(use.sources[i], state, upper ? 1 : 0);
    };
    Origin result = kNeither;
    if (Adds(step.operation)) {
      result = SumOf(step, use, value);
    } else {
      for (unsigned i = 0; i < use.source_count; ++i) {
        result = i == 0 ? value(i) : Either(result, value(i));
      }
      if (!Moves(step.operation)) result.ways |= Stripped(result).ways;
    }
    result.values = result.values || state.AreDecided(use.predicates_read);
    result.bounds = {};
    if (word == 0) {
      std::array<Bounds, 4> bounds;
      for (unsigned i = 0; i < use.source_count; ++i) {
        bounds[i] = Of(use.sources[i], state, 0).bounds;
      }
      result.bounds = BoundsOf(step, use, std::span(bounds).first(use.source_count), shape_);
    }
    return result;
  }

  void Store(Origin& cell, const Origin& value) {
    const Origin both = Either(cell, value);
    changed_ = changed_ || both != cell;
    cell = both;
  }

  // Words of a register that a store takes.
  Origin Stored(const OriginState& state, unsigned at, unsigned words, const Word& word) const {
    Origin result = Place(state, PlaceOfRegister(word.Bits(at, 8)));
    for (unsigned i = 1; i < words; ++i) {
      result = Either(result, Place(state, PlaceOfRegister(word.Bits(at, 8)), i));
    }
    return result;
  }

  Origin NearAddress(const OriginState& state, const Step& step, unsigned uniform_at) const {
    Origin result = Place(state, PlaceOfRegister(step.word.Bits(24, 8)));
    if (step.word.Bit(91)) {
      result = Either(result, Place(state, PlaceOfUniform(UniformIn(step, uniform_at))));
    }
    return result;
  }

  // Returns what a load gives; nothing for other operations.
  std::optional<Origin> Loaded(const Step& step, const OriginState& state, unsigned word) const {
    const Word& code = step.word;
    Origin result;
    switch (step.operation) {
      case Operation::kLdg:
      case Operation::kLdgWide:
      case Operation::kAtom:
      case Operation::kAtomCas:
      case Operation::kAtomFloat:
        return kLoaded;
      case Operation::kLd:
        return Either(kLoaded, Either(shared_, local_));
      case Operation::kLds:
      case Operation::kLdsm:
        result = shared_;
        break;
      case Operation::kAtoms:
      case Operation::kAtomsCas:
        return Either(shared_, {.values = shared_.values});
      case Operation::kLdl:
        result = local_;
        break;
      case Operation::kLdc: {
        const std::uint16_t index = PlaceOfRegister(code.Bits(24, 8));
        const std::uint32_t bank = sass::ConstantBank(code);
        const std::int64_t offset = code.Signed(38, 16);
        if (index != kNowhere) return constants_.Behind(step, bank, offset, Place(state, index));
        return constants_.At(bank, static_cast<std::uint32_t>(offset) + 4 * word);
      }
      case Operation::kUldc: {
        const std::uint32_t bank = sass::ConstantBank(code);
        const sass::UniformLoad place = sass::UniformLoadOf(code, step.dialect);
        const std::uint16_t index = PlaceOfUniform(place.index);
        if (index == kNowhere) return constants_.At(bank, place.offset + 4 * word);
        return constants_.Behind(step, bank, place.offset, Place(state, index));
      }
      default:
        return std::nullopt;
    }
    result.values = result.values || NearAddress(state, step, 32).values;
    return result;
  }

  // Keeps what a step puts into shared or local memory.
  void Keep(const Step& step, const OriginState& state, bool values) {
    Origin value;
    switch (step.operation) {
      case Operation::kStl:
      case Operation::kSts:
      case Operation::kSt:
      case Operation::kStsm:
      case Operation::kAtoms:
      case Operation::kAtomsCas:
        value = Stored(state, 32, 4, step.word);
        if (step.operation == Operation::kAtomsCas) {
          value = Either(value, Stored(state, 64, 2, step.word));
        }
        // Sums of what was there.
        if (step.operation == Operation::kAtoms) value.ways |= Stripped(Sum(value, shared_)).ways;
        break;
      case Operation::kAtomsPopcInc:
        value = kNeither;
        break;
      case Operation::kLdgsts:
        value = kLoaded;
        break;
      default:
        return;
    }
    value.values = value.values || values || NearAddress(state, step, 64).values;
    if (step.operation != Operation::kStl) Store(shared_, value);
    if (step.operation == Operation::kStl || step.operation == Operation::kSt) {
      Store(local_, value);
    }
  }

  // Applies one step: what its results may come from, and whether values decide them.
  void Apply(std::uint32_t at, OriginState& state) {
    const Step& step = program_.steps[at];
    const DataUse& use = uses_[at];
    if (use.opaque) return ApplyOpaque(use, state);
    state.guard = GuardOfStep(step);
    const std::uint16_t guard = GuardOf(step);
    const bool crosses = (decided_now_ && Crosses(step.operation)) ||
                         (varying_ == Varying::kThreads && TellsThreadsApart(step.operation));
    const bool by_guard = state.AreDecided(guard);
    Keep(step, state, decided_now_ || by_guard);
    Origin words[4];
    const unsigned count = use.target == kNowhere ? 0 : use.words;
    bool tainted = crosses || state.AreDecided(use.predicates_read);
    for (unsigned i = 0; i < use.source_count; ++i) {
      tainted = tainted || Of(use.sources[i], state, 0).values ||
                (use.words > 1 && Of(use.sources[i], state, 1).values);
    }
    if (const auto loaded = Loaded(step, state, 0)) tainted = tainted || loaded->values;
    for (unsigned i = 0; i < count; ++i) {
      const auto loaded = Loaded(step, state, i);
      words[i] = loaded ? *loaded : Computed(step, use, state, i);
      words[i].values = words[i].values || crosses;
    }
    for (unsigned i = 0; i < count && use.target + i < kPlaces; ++i) {
      state.Write(use.target + i, words[i], by_guard);
    }
    for (unsigned i = 0; use.second_target != kNowhere && i < use.words; ++i) {
      if (use.second_target + i < kPlaces) state.Write(use.second_target + i, kLoaded, by_guard);
    }
    // R2P writes some of them.
    const bool some = step.operation == Operation::kR2p;
    tainted = tainted || (some && state.AreDecided(use.predicates_written));
    state.WritePredicates(use.predicates_written, tainted, by_guard);
  }

  // Adds to what is there, whatever the guard says.
  void ApplyOpaque(const DataUse& use, OriginState& state) {
    const unsigned count = use.target == kNowhere ? 0 : use.words;
    for (unsigned i = 0; i < count && use.target + i < kUniformPlace; ++i) {
      state.Widen(use.target + i, kLoaded);
    }
    state.WidenPredicates(use.predicates_written);
    if (use.loads_into_shared) Store(shared_, kLoaded);
  }

  StoreSite SiteOf(std::uint32_t at, OriginState& state) const {
    const Step& step = program_.steps[at];
    state.guard = GuardOfStep(step);
    const Word& word = step.word;
    const bool based = word.Bit(91) && !step.descriptor;
    const std::uint16_t place = PlaceOfRegister(word.Bits(24, 8));
    Origin low = Place(state, place);
    Origin high = step.narrow ? kNeither : Place(state, place, 1);
    if (based) {
      const std::uint16_t base = PlaceOfUniform(UniformIn(step, 64));
      low = Sum(low, Place(state, base));
      high = Sum(high, Place(state, base, 1));
    }
    const Origin address = Either(low, high);
    return {.step = at,
            .pointers = address.pointers,
            .escapes = (address.ways & kFromMemory) != 0,
            .no_pointer = (address.ways & kFromNeither) != 0,
            .moves = address.values,
            .depends = decided_now_ || state.AreDecided(GuardOf(step))};
  }

  const Program& program_;
  const ConstantOrigins constants_;
  const Flow flow_;
  const LaunchShape shape_;
  const std::span<const BlockTrace> traces_;
  const Varying varying_;
  std::vector<DataUse> uses_;
  std::vector<OriginState> states_;      // By block, before it.
  std::map<std::uint32_t, Call> calls_;  // By the block that ends with it.
  std::vector<bool> decided_;            // By block: values decide whether it runs.
  std::vector<Places> merges_;           // By block: written on more than one way to it.
  std::vector<Places> chosen_;           // By block: values decide which way's results these are.
  bool decided_now_ = false;             // Of the block being looked at.
  Origin shared_ = kNeither;             // All of shared memory,
  Origin local_ = kNeither;              // and of local memory.
  bool changed_ = false;
};

}  // namespace

std::vector<StoreSite> FindStores(const Program& program, std::span<const std::uint32_t> pointers,
                                  const LaunchFacts& facts) {
  return Follower(program, pointers, facts, Varying::kMemory).Sites();
}

std::vector<std::uint32_t> FindSteadyBranches(const Program& program) {
  return Follower(program, {}, {}, Varying::kThreads).SteadyBranches();
}

}  // namespace eidolon::interpret
