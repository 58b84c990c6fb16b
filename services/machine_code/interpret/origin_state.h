// The origins of all registers at one point of a kernel.
#pragma once

#include <bitset>
#include <cstdint>
#include <vector>

#include "services/machine_code/interpret/data_use.h"
#include "services/machine_code/interpret/origin.h"

namespace eidolon::interpret {

// Registers and predicates, a bit each.
inline constexpr unsigned kPredicates = 16;
using Places = std::bitset<kPlaces + kPredicates>;

// The places that an instruction may write.
inline Places WrittenBy(const DataUse& use) {
  Places result;
  for (const std::uint16_t target : {use.target, use.second_target}) {
    for (unsigned i = 0; target != kNowhere && i < use.words; ++i) {
      if (target + i < kPlaces) result.set(target + i);
    }
  }
  return result | Places(use.predicates_written) << kPlaces;
}

// A predicate and the sense in which it guards: 0 for always.
using Guard = std::uint8_t;

inline Guard GuardOfStep(const Step& step) {
  if (step.guard == sass::kTruePredicate && !step.guard_negated) return 0;
  const unsigned number = step.guard + (step.uniform ? 8u : 0u);
  return static_cast<Guard>(2 * (number + 1) + (step.guard_negated ? 1 : 0));
}

// A register that was written under a guard holds one thing for steps with the same guard and
// another for all others.
class OriginState {
 public:
  bool reached = false;
  Guard guard = 0;  // Of the step that reads and writes now.

  void Start() {
    reached = true;
    places_.assign(kPlaces + kPredicates, {kNeither, {}, 0});
  }

  const Origin& Read(std::size_t place) const {
    const Entry& entry = places_[place];
    return guard != 0 && entry.guard == guard ? entry.guarded : entry.any;
  }

  // `by_values`: values decide the guard.
  void Write(std::size_t place, const Origin& origin, bool by_values) {
    Entry& entry = places_[place];
    if (guard == 0) {
      entry = {origin, {}, 0};
    } else {
      // Under the one sense and under the other: nothing is left of what was there before.
      const bool both = entry.guard == (guard ^ 1);
      entry.any = Either(both ? entry.guarded : entry.any, origin);
      entry.any.values = entry.any.values || by_values;
      entry.guarded = origin;
      entry.guard = guard;
      has_guards_ = true;
    }
  }

  // The place may hold this as well as what it held.
  void Widen(std::size_t place, const Origin& origin) {
    Entry& entry = places_[place];
    if (entry.guard != 0) entry.any = Either(entry.any, entry.guarded);
    entry = {Either(entry.any, origin), {}, 0};
  }

  // True when values decide one of these predicates.
  bool AreDecided(std::uint16_t predicates) const {
    for (unsigned i = 0; predicates != 0; ++i, predicates >>= 1) {
      if ((predicates & 1) != 0 && Read(kPlaces + i).values) return true;
    }
    return false;
  }

  void WritePredicates(std::uint16_t predicates, bool decided, bool by_values) {
    for (unsigned i = 0; i < kPredicates; ++i) {
      if ((predicates >> i & 1) == 0) continue;
      Write(kPlaces + i, {.ways = kFromNeither, .values = decided}, by_values);
    }
    ForgetGuards(predicates);
  }

  // Values may have changed these predicates.
  void WidenPredicates(std::uint16_t predicates) {
    for (unsigned i = 0; i < kPredicates; ++i) {
      if ((predicates >> i & 1) != 0) Widen(kPlaces + i, {.ways = kFromNeither, .values = true});
    }
    ForgetGuards(predicates);
  }

 private:
  // These predicates have new values.
  void ForgetGuards(std::uint16_t written) {
    if (written == 0 || !has_guards_) return;
    has_guards_ = false;
    for (Entry& entry : places_) {
      if (entry.guard != 0 && (written >> (entry.guard / 2 - 1) & 1) != 0) entry.guard = 0;
      has_guards_ = has_guards_ || entry.guard != 0;
    }
  }

 public:
  void MarkValues(std::size_t place) {
    places_[place].any.values = true;
    places_[place].guarded.values = true;
  }

  // What is in these places comes from another state.
  void Take(const OriginState& other, const Places& which) {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (which[i]) places_[i] = other.places_[i];
    }
    std::uint16_t written = 0;
    for (unsigned i = 0; i < kPredicates; ++i) {
      if (which[kPlaces + i]) written = static_cast<std::uint16_t>(written | 1u << i);
    }
    has_guards_ = has_guards_ || other.has_guards_;
    ForgetGuards(written);
  }

  // Both ways lead here. True when that brought something new.
  bool Merge(const OriginState& other) {
    if (!reached) {
      *this = other;
      return true;
    }
    bool changed = false;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Entry& mine = places_[i];
      const Entry& its = other.places_[i];
      if (mine == its) continue;
      Entry both{Either(mine.any, its.any), {}, mine.guard == its.guard ? mine.guard : Guard{0}};
      if (both.guard != 0) both.guarded = Either(mine.guarded, its.guarded);
      changed = changed || both != mine;
      mine = both;
    }
    return changed;
  }

 private:
  struct Entry {
    Origin any;
    Origin guarded;   // For steps with this guard, when there is one.
    Guard guard = 0;  // Of the last step that wrote here.
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> places_;
  bool has_guards_ = false;  // False: no entry has one.
};

}  // namespace eidolon::interpret
