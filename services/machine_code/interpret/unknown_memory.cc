// The marks of bytes are looked up before a step runs, because a load may overwrite its own
// address, and set after it, because the handlers mark what they store as known. Lanes may meet at
// one place, in an order that a GPU leaves open: a byte is unknown when any of them makes it so. A
// load from an unknown address is not run, and gives an unknown value; a store to one ends the
// launch, for it may be anywhere. Where only the guard of a store is unknown, the bytes at its
// place are unknown afterwards: the old ones or the new ones.
#include "services/machine_code/interpret/unknown_memory.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "services/machine_code/interpret/access.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/shuffle.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

constexpr std::array<unsigned, 8> kBytesOfSize = {1, 1, 2, 2, 4, 8, 16, 0};

unsigned BytesOf(const Step& step) {
  const bool wide = step.operation == Operation::kLdgWide || step.operation == Operation::kStgWide;
  return wide ? 32 : kBytesOfSize[step.word.Bits(73, 3)];
}

bool Has(std::uint32_t lanes, unsigned lane) { return (lanes >> lane & 1) != 0; }

template <typename Body>
void ForEachLane(std::uint32_t lanes, Body&& body) {
  for (; lanes != 0; lanes &= lanes - 1) body(static_cast<unsigned>(std::countr_zero(lanes)));
}

// The lanes of an access go to these places; in some lanes the place is unknown.
struct Addresses {
  std::array<Place, kLanes> places{};
  std::uint32_t unknown = 0;

  void NoteRow(const Warp& warp, const Step& step, bool pair) {
    const unsigned row = SourceRow(step.word.Bits(24, 8));
    unknown |= warp.unknowns->rows[row];
    if (pair && row != kZeroRow) unknown |= warp.unknowns->rows[row + 1];
  }
  void NoteUniform(const Warp& warp, const Step& step, unsigned at, bool pair) {
    const std::uint32_t uniform = UniformIn(step, at);
    if (!step.word.Bit(91) || uniform == sass::kZeroUniform) return;
    unknown |= warp.unknowns->uniform[uniform];
    if (pair) unknown |= warp.unknowns->uniform[uniform + 1];
  }

  // A generic address, or (`space` given) one of that space.
  static Addresses OfGlobal(Warp& warp, const Step& step, unsigned uniform_at, bool generic) {
    Addresses result;
    const GlobalAddress address(warp, step, uniform_at);
    for (unsigned i = 0; i < kLanes; ++i) {
      result.places[i] = generic ? PlaceOfGeneric(address[i]) : Place{Space::kGlobal, address[i]};
    }
    result.NoteRow(warp, step, !step.narrow);
    if (!step.descriptor) result.NoteUniform(warp, step, uniform_at, true);
    return result;
  }
  static Addresses OfNear(Warp& warp, const Step& step, unsigned uniform_at, bool scaled,
                          Space space) {
    Addresses result;
    const NearAddress address(warp, step, uniform_at, scaled);
    for (unsigned i = 0; i < kLanes; ++i) result.places[i] = {space, address[i]};
    result.NoteRow(warp, step, false);
    result.NoteUniform(warp, step, uniform_at, false);
    return result;
  }
  // Of comparing and exchanging: without a uniform part.
  static Addresses OfExchange(Warp& warp, const Step& step, bool near) {
    Addresses result;
    const unsigned row = SourceRow(step.word.Bits(24, 8));
    const std::uint32_t* low = warp.Row(row);
    const std::uint32_t* high = warp.Row(row == kZeroRow ? row : row + 1);
    const auto offset = static_cast<std::uint64_t>(step.word.Signed(40, 24));
    for (unsigned i = 0; i < kLanes; ++i) {
      result.places[i] = near ? Place{Space::kShared, (low[i] + offset) & 0xffffffffu}
                              : PlaceOfGeneric((std::uint64_t{high[i]} << 32 | low[i]) + offset);
    }
    result.NoteRow(warp, step, !near);
    return result;
  }
};

Addresses AddressesOf(Warp& warp, const Step& step) {
  switch (step.operation) {
    case Operation::kLdg:
    case Operation::kLdgWide:
      return Addresses::OfGlobal(warp, step, 32, false);
    case Operation::kLd:
      return Addresses::OfGlobal(warp, step, 32, true);
    case Operation::kStg:
    case Operation::kStgWide:
      return Addresses::OfGlobal(warp, step, 64, false);
    case Operation::kLds:
      return Addresses::OfNear(warp, step, 32, true, Space::kShared);
    case Operation::kLdl:
      return Addresses::OfNear(warp, step, 32, false, Space::kLocal);
    case Operation::kSts:
      return Addresses::OfNear(warp, step, 64, true, Space::kShared);
    case Operation::kStl:
      return Addresses::OfNear(warp, step, 64, false, Space::kLocal);
    case Operation::kLdsm:
      return Addresses::OfNear(warp, step, 32, false, Space::kShared);
    case Operation::kStsm:
      return Addresses::OfNear(warp, step, 64, false, Space::kShared);
    case Operation::kAtoms:
    case Operation::kAtomsPopcInc:
      return Addresses::OfNear(warp, step, 64, true, Space::kShared);
    case Operation::kAtomsCas:
      return Addresses::OfExchange(warp, step, true);
    case Operation::kAtomCas:
      return Addresses::OfExchange(warp, step, false);
    default:  // ST and the other atomics of global memory.
      return Addresses::OfGlobal(warp, step, 64, true);
  }
}

void EndForWay(const Warp& warp, const Step& step) {
  const auto index = &step - warp.launch->program->steps.data();
  warp.launch->End(Stop::kUnknownWay, static_cast<std::uint64_t>(index) * sass::kWordBytes);
}

// The marks of bytes in shared or local memory; null where there is no such memory.
std::uint8_t* MarksAt(Warp& warp, unsigned lane, Place place, unsigned size) {
  BlockUnknowns& unknowns = warp.block->unknowns;
  if (place.space == Space::kShared) {
    return place.address + size <= unknowns.shared.size() ? unknowns.shared.data() + place.address
                                                          : nullptr;
  }
  const std::uint64_t bytes = warp.launch->local_bytes;
  if (place.address + size > bytes) return nullptr;
  return unknowns.local.data() + std::uint64_t{warp.first_thread + lane} * bytes + place.address;
}

// Requires: `size` bytes that are aligned to it, or a part of such. False where there is no memory:
// the handler finds that out.
bool IsUnknown(Warp& warp, unsigned lane, Place place, unsigned size) {
  if (place.space == Space::kGlobal) {
    const Page* const page = warp.launch->PageOf(place.address);
    if (page == nullptr || place.address % size != 0) return false;
    const std::uint64_t offset = place.address % kPageBytes;
    const std::uint64_t bits = MaskOf(offset, size);
    return (page->known[offset / 64] & bits) != bits;
  }
  const std::uint8_t* const marks = MarksAt(warp, lane, place, size);
  if (marks == nullptr) return false;
  for (unsigned i = 0; i < size; ++i) {
    if (marks[i] != 0) return true;
  }
  return false;
}

// Marks what was stored. The same holds.
void Mark(Warp& warp, unsigned lane, Place place, unsigned size, bool unknown) {
  if (place.space == Space::kGlobal) {
    Page* const page = warp.launch->PageOf(place.address);
    if (page == nullptr || place.address % size != 0) return;
    const std::uint64_t offset = place.address % kPageBytes;
    const std::uint64_t bits = MaskOf(offset, size);
    std::uint64_t& known = page->known[offset / 64];
    known = unknown ? known & ~bits : known | bits;
    page->written[offset / 64] |= bits;
    return;
  }
  std::uint8_t* const marks = MarksAt(warp, lane, place, size);
  if (marks != nullptr) std::memset(marks, unknown ? 1 : 0, size);
}

// A part of an access: a word, or all of what is smaller.
Place PartOf(Place place, unsigned word) { return {place.space, place.address + 4 * word}; }

// Lanes for which each word of what they load is unknown.
std::array<std::uint32_t, 8> UnknownWords(Warp& warp, const Addresses& addresses, unsigned bytes,
                                          std::uint32_t lanes) {
  std::array<std::uint32_t, 8> unknown{};
  ForEachLane(lanes, [&](unsigned lane) {
    for (unsigned word = 0; word == 0 || 4 * word < bytes; ++word) {
      const Place part = PartOf(addresses.places[lane], word);
      if (IsUnknown(warp, lane, part, std::min(bytes, 4u))) unknown[word] |= 1u << lane;
    }
  });
  return unknown;
}

void RunLoad(Warp& warp, const Step& step, const Lineup& lanes) {
  const Addresses addresses = AddressesOf(warp, step);
  const unsigned bytes = BytesOf(step);
  const std::uint32_t loading = lanes.certain & ~addresses.unknown;
  const std::array<std::uint32_t, 8> unknown = UnknownWords(warp, addresses, bytes, loading);
  if (loading != 0) step.run(warp, step, loading);
  const auto mark = [&](unsigned row, unsigned first, unsigned words) {
    for (unsigned i = 0; i < words && row >= kFirstRow; ++i) {
      PutUnknown(warp.unknowns->rows[row + i], lanes, unknown[first + i] | addresses.unknown);
    }
  };
  if (bytes == 32) {
    mark(step.target, 0, 4);
    mark(TargetRow(step.word.Bits(64, 8)), 4, 4);
  } else {
    mark(step.target, 0, std::max(bytes / 4, 1u));
  }
}

// Lanes in which a word that is stored is unknown.
std::uint32_t UnknownStored(const Warp& warp, const Step& step, unsigned word) {
  const bool second = step.operation == Operation::kStgWide && word >= 4;
  const unsigned row = SourceRow(step.word.Bits(second ? 16 : 32, 8));
  return row == kZeroRow ? 0 : warp.unknowns->rows[row + (second ? word - 4 : word)];
}

// Marks as unknown where these lanes perhaps store. They must be able to.
void MarkPerhaps(Warp& warp, const Addresses& addresses, unsigned bytes, std::uint32_t lanes) {
  ForEachLane(lanes, [&](unsigned lane) {
    const Place place = addresses.places[lane];
    if (Reach(warp, lane, place, bytes, false, false) == nullptr) return;
    for (unsigned word = 0; word == 0 || 4 * word < bytes; ++word) {
      Mark(warp, lane, PartOf(place, word), std::min(bytes, 4u), true);
    }
  });
}

void RunStore(Warp& warp, const Step& step, const Lineup& lanes) {
  const Addresses addresses = AddressesOf(warp, step);
  if ((addresses.unknown & lanes.all()) != 0) return EndForWay(warp, step);
  const unsigned bytes = BytesOf(step);
  if (lanes.certain != 0) step.run(warp, step, lanes.certain);
  for (const bool marks_unknown : {false, true}) {  // Known ones first: lanes may meet.
    for (unsigned word = 0; word == 0 || 4 * word < bytes; ++word) {
      const std::uint32_t unknown = UnknownStored(warp, step, word);
      ForEachLane(lanes.certain & (marks_unknown ? unknown : ~unknown), [&](unsigned lane) {
        Mark(warp, lane, PartOf(addresses.places[lane], word), std::min(bytes, 4u), marks_unknown);
      });
    }
  }
  MarkPerhaps(warp, addresses, bytes, lanes.perhaps);
}

bool ReturnsNothing(Operation operation) {
  return operation == Operation::kRed || operation == Operation::kRedFloat ||
         operation == Operation::kAtomsPopcInc;
}

unsigned CellBytes(const Step& step) {
  constexpr std::uint64_t kDoubleCells = 15;
  switch (step.operation) {
    case Operation::kAtomsPopcInc:
      return 4;
    case Operation::kAtomFloat:
    case Operation::kRedFloat:
      return step.word.Bits(73, 4) == kDoubleCells ? 8 : 4;
    default:
      return step.word.Bits(73, 3) >= 2 ? 8 : 4;
  }
}

// Lanes in which an operand of an atomic is unknown.
std::uint32_t UnknownOperandsOf(const Warp& warp, const Step& step, bool pair) {
  const auto row_at = [&](unsigned at) {
    const unsigned row = SourceRow(step.word.Bits(at, 8));
    if (row == kZeroRow) return 0u;
    return warp.unknowns->rows[row] | (pair ? warp.unknowns->rows[row + 1] : 0u);
  };
  if (step.operation == Operation::kAtomsPopcInc) return 0;
  const bool exchanges =
      step.operation == Operation::kAtomCas || step.operation == Operation::kAtomsCas;
  return row_at(32) | (exchanges ? row_at(64) : 0u);
}

// A cell that any lane makes unknown is so for all lanes that reach it, whichever comes first.
// Cells have one size and are aligned to it: they are the same or apart.
void RunAtomic(Warp& warp, const Step& step, const Effect& effect, const Lineup& lanes) {
  const Addresses addresses = AddressesOf(warp, step);
  if ((addresses.unknown & lanes.all()) != 0) return EndForWay(warp, step);
  const unsigned bytes = CellBytes(step);
  const std::uint32_t operands = UnknownOperandsOf(warp, step, bytes == 8);
  std::uint32_t unknown = lanes.perhaps | (operands & lanes.certain);
  ForEachLane(lanes.certain, [&](unsigned lane) {
    if (IsUnknown(warp, lane, addresses.places[lane], bytes)) unknown |= 1u << lane;
  });
  const std::uint32_t sources = unknown;
  ForEachLane(sources, [&](unsigned source) {
    ForEachLane(lanes.all() & ~unknown, [&](unsigned lane) {
      const Place& a = addresses.places[source];
      const Place& b = addresses.places[lane];
      if (a.space == b.space && a.address == b.address) unknown |= 1u << lane;
    });
  });
  if (lanes.certain != 0) step.run(warp, step, lanes.certain);
  MarkPerhaps(warp, addresses, bytes, lanes.perhaps);
  for (const bool marks_unknown : {false, true}) {
    ForEachLane(lanes.certain & (marks_unknown ? unknown : ~unknown), [&](unsigned lane) {
      Mark(warp, lane, addresses.places[lane], bytes, marks_unknown);
    });
  }
  if (ReturnsNothing(step.operation)) return;
  for (const std::uint16_t row : effect.rows_written) {
    PutUnknown(warp.unknowns->rows[row], lanes, unknown);
  }
  // It says whether the unit can reach the place, which is known; or whether it exchanged.
  const bool exchanged = step.operation == Operation::kAtomsCas;
  for (const std::uint8_t number : effect.predicates_written) {
    PutUnknown(warp.unknowns->predicate[number], lanes, exchanged ? unknown : 0);
  }
}

// From global to shared memory, or zeros, as a predicate says.
void RunCopy(Warp& warp, const Step& step, const Lineup& lanes) {
  const Word& word = step.word;
  const unsigned bytes = BytesOf(step);
  const unsigned row = SourceRow(word.Bits(24, 8));
  const unsigned row_to = SourceRow(word.Bits(16, 8));
  const std::array<std::uint32_t, kRegisterRows>& rows = warp.unknowns->rows;
  const std::uint32_t from = rows[row] | (row == kZeroRow ? 0 : rows[row + 1]);
  const std::uint32_t real = warp.unknowns->predicate[word.Bits(87, 3)];
  if (((from | rows[row_to] | real | lanes.perhaps) & lanes.all()) != 0) {
    return EndForWay(warp, step);
  }
  const std::uint32_t* low = warp.Row(row);
  const std::uint32_t* high = warp.Row(row == kZeroRow ? row : row + 1);
  const std::uint32_t* shared = warp.Row(row_to);
  const std::uint32_t reads = ReadPredicate(warp, word, 87);
  step.run(warp, step, lanes.certain);
  for (const bool marks_unknown : {false, true}) {
    ForEachLane(lanes.certain, [&](unsigned lane) {
      const std::uint64_t source = (std::uint64_t{high[lane]} << 32 | low[lane]) +
                                   static_cast<std::uint64_t>(word.Signed(32, 12));
      const std::uint32_t to = shared[lane] + static_cast<std::uint32_t>(word.Signed(44, 20));
      for (unsigned i = 0; i < bytes; ++i) {
        const bool unknown =
            Has(reads, lane) && IsUnknown(warp, lane, {Space::kGlobal, source + i}, 1);
        if (unknown == marks_unknown) Mark(warp, lane, {Space::kShared, to + i}, 1, unknown);
      }
    });
  }
}

// Matrices of eight rows of 16 bytes: one unknown byte makes all of its matrix unknown.
void RunMatrixAccess(Warp& warp, const Step& step, const Lineup& lanes) {
  const unsigned count = 1u << step.word.Bits(72, 2);
  const Addresses addresses = AddressesOf(warp, step);
  const std::uint32_t naming = count == 4 ? ~0u : (1u << (8 * count)) - 1;
  if (lanes.perhaps != 0 || (addresses.unknown & naming) != 0) return EndForWay(warp, step);
  const bool loads = step.operation == Operation::kLdsm;
  const unsigned source = SourceRow(step.word.Bits(32, 8));
  std::array<std::uint32_t, 4> unknown{};
  for (unsigned i = 0; i < count; ++i) {
    if (!loads) {
      unknown[i] = source == kZeroRow ? 0 : warp.unknowns->rows[source + i];
      continue;
    }
    for (unsigned lane = 8 * i; lane < 8 * i + 8; ++lane) {
      if (IsUnknown(warp, lane, addresses.places[lane], 16)) unknown[i] = ~0u;
    }
  }
  step.run(warp, step, lanes.certain);
  if (loads) {
    for (unsigned i = 0; i < count && step.target >= kFirstRow; ++i) {
      PutUnknown(warp.unknowns->rows[step.target + i], lanes, unknown[i]);
    }
    return;
  }
  for (const bool marks_unknown : {false, true}) {
    for (unsigned lane = 0; lane < 8 * count; ++lane) {
      if ((unknown[lane / 8] != 0) != marks_unknown) continue;
      Mark(warp, lane, addresses.places[lane], 16, marks_unknown);
    }
  }
}

// A constant at an unknown place is not read: it may lie behind the bank.
void RunConstantLoad(Warp& warp, const Step& step, const Effect& effect, const Lineup& lanes) {
  WarpUnknowns& unknowns = *warp.unknowns;
  if (step.operation == Operation::kUldc) {
    std::uint32_t unknown = lanes.certain == 0 ? ~0u : 0;
    for (const std::uint16_t number : effect.uniforms_read) unknown |= unknowns.uniform[number];
    if (unknown == 0) step.run(warp, step, lanes.certain);
    for (const std::uint16_t number : effect.uniforms_written) unknowns.uniform[number] = unknown;
    return;
  }
  std::uint32_t unknown = 0;
  for (const std::uint16_t row : effect.rows_read) unknown |= unknowns.rows[row];
  const std::uint32_t loading = lanes.certain & ~unknown;
  if (loading != 0) step.run(warp, step, loading);
  for (const std::uint16_t row : effect.rows_written)
    PutUnknown(unknowns.rows[row], lanes, unknown);
}

void RunShuffle(Warp& warp, const Step& step, const Effect& effect, const Lineup& lanes) {
  const Word& word = step.word;
  WarpUnknowns& unknowns = *warp.unknowns;
  const unsigned by = SourceRow(word.Bits(32, 8));
  const unsigned bounds = SourceRow(word.Bits(64, 8));
  const std::uint32_t values = unknowns.rows[SourceRow(word.Bits(24, 8))];
  const Shuffle shuffle(word, warp.Row(by), warp.Row(bounds));
  const std::uint32_t unknown_way = (ShufflesByRegister(word) ? unknowns.rows[by] : 0) |
                                    (IsShuffleBoundByRegister(word) ? unknowns.rows[bounds] : 0);
  std::uint32_t unknown = unknown_way;
  for (unsigned i = 0; i < kLanes; ++i) {
    unknown |= (values >> shuffle.from[i] & 1) << i;
    // Such a lane may not take part, and then has no value to give.
    if (Has(lanes.perhaps, shuffle.from[i])) unknown |= 1u << i;
  }
  if (lanes.certain != 0) step.run(warp, step, lanes.certain);
  for (const std::uint8_t number : effect.predicates_written) {
    PutUnknown(unknowns.predicate[number], lanes, unknown_way);
  }
  for (const std::uint16_t row : effect.rows_written)
    PutUnknown(unknowns.rows[row], lanes, unknown);
}

}  // namespace

bool RunTrackedMemory(Warp& warp, const Step& step, const Lineup& lanes) {
  const auto index = static_cast<std::size_t>(&step - warp.launch->program->steps.data());
  const Effect& effect = warp.launch->effects[index];
  switch (step.operation) {
    case Operation::kLdg:
    case Operation::kLdgWide:
    case Operation::kLd:
    case Operation::kLds:
    case Operation::kLdl:
      RunLoad(warp, step, lanes);
      return true;
    case Operation::kStg:
    case Operation::kStgWide:
    case Operation::kSt:
    case Operation::kSts:
    case Operation::kStl:
      RunStore(warp, step, lanes);
      return true;
    case Operation::kAtom:
    case Operation::kAtomCas:
    case Operation::kAtomFloat:
    case Operation::kAtoms:
    case Operation::kAtomsCas:
    case Operation::kAtomsPopcInc:
    case Operation::kRed:
    case Operation::kRedFloat:
      RunAtomic(warp, step, effect, lanes);
      return true;
    case Operation::kLdgsts:
      RunCopy(warp, step, lanes);
      return true;
    case Operation::kLdsm:
    case Operation::kStsm:
      RunMatrixAccess(warp, step, lanes);
      return true;
    case Operation::kLdc:
    case Operation::kUldc:
      RunConstantLoad(warp, step, effect, lanes);
      return true;
    case Operation::kShfl:
      RunShuffle(warp, step, effect, lanes);
      return true;
    default:
      return false;
  }
}

}  // namespace eidolon::interpret
