// A launch's blocks run one after another in one thread, so an atomic is a plain read, change and
// write; lanes of a warp take their turns by number. A GPU leaves the order open, hence any order
// is a right one, and a fixed one makes runs repeat exactly. Sums of floating point numbers depend
// on the order, so their last bits may differ from a GPU's. A field whose meaning is not known
// gives no handler: refusing a kernel leaves its results unknown, while a wrong number would go on
// unnoticed.
#include <algorithm>
#include <bit>
#include <cstring>

#include "services/base/small_float.h"
#include "services/machine_code/interpret/access.h"
#include "services/machine_code/interpret/float_math.h"
#include "services/machine_code/interpret/handlers.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

template <typename Number>
Number Updated(std::uint64_t operation, Number old, Number value) {
  switch (operation) {
    case 0:
      return static_cast<Number>(old + value);
    case 1:
      return std::min(old, value);
    case 2:
      return std::max(old, value);
    case 3:
      return old >= value ? 0 : static_cast<Number>(old + 1);
    case 4:
      return old == 0 || old > value ? value : static_cast<Number>(old - 1);
    case 5:
      return old & value;
    case 6:
      return old | value;
    case 7:
      return old ^ value;
    default:
      return value;
  }
}

// The new value of an integer cell by the type field: 32 or 64 bits, unsigned or signed.
std::uint64_t UpdatedCell(std::uint64_t operation, std::uint64_t type, std::uint64_t old,
                          std::uint64_t value) {
  switch (type) {
    case 0:
      return Updated(operation, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(value));
    case 1: {
      if (operation == 1 || operation == 2) {
        return static_cast<std::uint32_t>(
            Updated(operation, static_cast<std::int32_t>(old), static_cast<std::int32_t>(value)));
      }
      return Updated(operation, static_cast<std::uint32_t>(old), static_cast<std::uint32_t>(value));
    }
    case 2:
      return Updated(operation, old, value);
    default:
      if (operation == 1 || operation == 2) {
        return static_cast<std::uint64_t>(
            Updated(operation, static_cast<std::int64_t>(old), static_cast<std::int64_t>(value)));
      }
      return Updated(operation, old, value);
  }
}

std::uint64_t ReadRegister(Warp& warp, unsigned at, const Word& word, unsigned lane, bool pair) {
  const unsigned row = SourceRow(word.Bits(at, 8));
  std::uint64_t value = warp.Row(row)[lane];
  if (pair) value |= std::uint64_t{warp.Row(row == kZeroRow ? row : row + 1)[lane]} << 32;
  return value;
}

void PutCells(Warp& warp, const Step& step, std::uint32_t mask, unsigned size,
              const std::array<std::uint64_t, kLanes>& values) {
  if (size == 8) return PutPair(warp, step.target, mask, values);
  Lanes out;
  for (unsigned i = 0; i < kLanes; ++i) out[i] = static_cast<std::uint32_t>(values[i]);
  Put(warp, step.target, mask, out);
}

// Runs update(lane, old) on each lane's cell in order and keeps the old values as the result.
template <typename PlaceFor, typename Update>
void ForEachCell(Warp& warp, const Step& step, std::uint32_t mask, unsigned size, bool returns,
                 PlaceFor&& place, Update&& update) {
  std::array<std::uint64_t, kLanes> before{};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::byte* cell = Reach(warp, lane, place(lane), size, true, true);
    if (cell == nullptr) return;
    std::uint64_t old = 0;
    std::memcpy(&old, cell, size);
    const std::uint64_t now = update(lane, old);
    std::memcpy(cell, &now, size);
    before[lane] = old;
  }
  if (returns) PutCells(warp, step, mask, size, before);
}

bool IsNear(Operation operation) {
  return operation == Operation::kAtoms || operation == Operation::kAtomsCas ||
         operation == Operation::kAtomsPopcInc;
}

// Calls body with the function that gives each lane's place.
template <typename Body>
void WithPlaces(Warp& warp, const Step& step, Body&& body) {
  if (IsNear(step.operation)) {
    const NearAddress address(warp, step, 64, step.operation != Operation::kAtomsCas);
    body([&](unsigned lane) { return Place{Space::kShared, address[lane]}; });
    return;
  }
  const GlobalAddress address(warp, step, 64);
  body([&](unsigned lane) { return PlaceOfGeneric(address[lane]); });
}

// The same for comparing and exchanging, whose addresses have no uniform part.
template <typename Body>
void WithExchangePlaces(Warp& warp, const Step& step, Body&& body) {
  const unsigned row = SourceRow(step.word.Bits(24, 8));
  const std::uint32_t* low = warp.Row(row);
  const std::uint32_t* high = warp.Row(row == kZeroRow ? row : row + 1);
  const auto offset = static_cast<std::uint64_t>(step.word.Signed(40, 24));
  if (IsNear(step.operation)) {
    body([&](unsigned lane) { return Place{Space::kShared, (low[lane] + offset) & 0xffffffffu}; });
  } else {
    body([&](unsigned lane) {
      return PlaceOfGeneric((std::uint64_t{high[lane]} << 32 | low[lane]) + offset);
    });
  }
}

constexpr std::uint64_t kExchange = 8;

// Atomics on generic addresses that the unit does not do everywhere tell by a predicate which lanes
// they were done for: additions of floating point numbers and what changes eight bytes for global
// addresses only, exchanges of eight bytes not for local ones (code of the compiler does the others
// one by one). Writes the predicate and gives the lanes that take part.
template <typename IsDone>
std::uint32_t KeepDone(Warp& warp, const Step& step, std::uint32_t mask, IsDone&& is_done) {
  if (step.word.Bits(81, 3) == sass::kTruePredicate) return mask;
  std::uint32_t done = 0;
  const auto body = [&](auto&& place) {
    for (unsigned i = 0; i < kLanes; ++i) {
      done |= std::uint32_t{is_done(place(i).space)} << i;
    }
  };
  if (step.operation == Operation::kAtomCas) {
    WithExchangePlaces(warp, step, body);
  } else {
    WithPlaces(warp, step, body);
  }
  PutPredicate(warp, step.word, 81, mask, done);
  return mask & done;
}

void RunInteger(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t type = step.word.Bits(73, 3);
  const bool red = step.operation == Operation::kRed;
  const std::uint64_t operation = step.word.Bits(87, red ? 3 : 4);
  const unsigned size = type < 2 ? 4 : 8;
  if (step.operation == Operation::kAtom) {
    mask = KeepDone(warp, step, mask, [&](Space space) {
      return space == Space::kGlobal || (operation == kExchange && space == Space::kShared);
    });
  }
  WithPlaces(warp, step, [&](auto&& place) {
    ForEachCell(warp, step, mask, size, !red, place, [&](unsigned lane, std::uint64_t old) {
      return UpdatedCell(operation, type, old, ReadRegister(warp, 32, step.word, lane, size == 8));
    });
  });
}

void RunIncrement(Warp& warp, const Step& step, std::uint32_t mask) {
  WithPlaces(warp, step, [&](auto&& place) {
    ForEachCell(warp, step, mask, 4, false, place,
                [](unsigned, std::uint64_t old) { return old + 1; });
  });
}

void RunExchange(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool pair = step.word.Bits(73, 3) == 2;
  const unsigned size = pair ? 8 : 4;
  // CAST tells whether it exchanged instead of what it found.
  const bool tells = step.word.Bit(87);
  if (step.operation == Operation::kAtomCas) {
    mask = KeepDone(warp, step, mask, [](Space space) { return space != Space::kLocal; });
  }
  const auto body = [&](auto&& place) {
    std::uint32_t done = 0;
    ForEachCell(warp, step, mask, size, !tells, place, [&](unsigned lane, std::uint64_t old) {
      const bool same = old == ReadRegister(warp, 32, step.word, lane, pair);
      done |= std::uint32_t{same} << lane;
      return same ? ReadRegister(warp, 64, step.word, lane, pair) : old;
    });
    if (!tells || warp.launch->stop != Stop::kNone) return;
    if (step.operation == Operation::kAtomsCas && sass::FormOf(step.word) == 2) {  // In 10.x.
      PutPredicate(warp, step.word, 81, mask, done);
      return;
    }
    // The width is that of the cell: what follows compares all of it with one.
    std::array<std::uint64_t, kLanes> out;
    for (unsigned i = 0; i < kLanes; ++i) out[i] = done >> i & 1;
    PutCells(warp, step, mask, size, out);
  };
  WithExchangePlaces(warp, step, body);
}

// Formats of floating point atomics.
constexpr std::uint64_t kHalves = 0;
constexpr std::uint64_t kBfloats = 3;
constexpr std::uint64_t kSingleFlushed = 9;
constexpr std::uint64_t kSinglePlain = 12;
constexpr std::uint64_t kDoublePlain = 15;

std::uint32_t AddHalves(std::uint32_t a, std::uint32_t b, bool bfloat) {
  std::uint32_t result = 0;
  for (unsigned shift = 0; shift < 32; shift += 16) {
    const auto x = static_cast<std::uint16_t>(a >> shift);
    const auto y = static_cast<std::uint16_t>(b >> shift);
    const double sum = bfloat ? static_cast<double>(base::BfloatToFloat(x)) + base::BfloatToFloat(y)
                              : static_cast<double>(base::HalfToFloat(x)) + base::HalfToFloat(y);
    result |= std::uint32_t{bfloat ? base::DoubleToBfloat(sum) : base::DoubleToHalf(sum)} << shift;
  }
  return result;
}

void RunFloat(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t format = step.word.Bits(73, 4);
  const bool red = step.operation == Operation::kRedFloat;
  const unsigned size = format == kDoublePlain ? 8 : 4;
  if (!red) {
    mask = KeepDone(warp, step, mask, [](Space space) { return space == Space::kGlobal; });
  }
  WithPlaces(warp, step, [&](auto&& place) {
    ForEachCell(warp, step, mask, size, !red, place,
                [&](unsigned lane, std::uint64_t old) -> std::uint64_t {
                  const std::uint64_t value = ReadRegister(warp, 32, step.word, lane, size == 8);
                  if (format == kDoublePlain) {
                    return std::bit_cast<std::uint64_t>(std::bit_cast<double>(old) +
                                                        std::bit_cast<double>(value));
                  }
                  const auto a = static_cast<std::uint32_t>(old);
                  const auto b = static_cast<std::uint32_t>(value);
                  if (format == kHalves || format == kBfloats) {
                    return AddHalves(a, b, format == kBfloats);
                  }
                  if (format == kSinglePlain) return AsBits(AsFloat(a) + AsFloat(b));
                  return Flushed(AsBits(AsFloat(Flushed(a)) + AsFloat(Flushed(b))));
                });
  });
}

}  // namespace

Handler FindAtomicHandler(Operation operation, const Word& word) {
  const std::uint64_t type = word.Bits(73, 3);
  const std::uint64_t format = word.Bits(73, 4);
  const bool known_format = format == kHalves || format == kBfloats || format == kSingleFlushed ||
                            format == kSinglePlain || format == kDoublePlain;
  switch (operation) {
    case Operation::kAtom:
      // Of four bytes the predicate would tell about memory errors.
      if (word.Bits(81, 3) != sass::kTruePredicate && type < 2) return nullptr;
      return type < 4 && word.Bits(87, 4) < 9 ? RunInteger : nullptr;
    case Operation::kAtoms:
      return type < 4 && word.Bits(87, 4) < 9 ? RunInteger : nullptr;
    case Operation::kRed:
      return type < 4 ? RunInteger : nullptr;
    case Operation::kAtomsPopcInc:
      return word.Bits(16, 8) == sass::kZeroRegister ? RunIncrement : nullptr;
    case Operation::kAtomCas:
      if (word.Bits(81, 3) != sass::kTruePredicate && (type != 2 || word.Bit(87))) return nullptr;
      return type == 0 || type == 2 ? RunExchange : nullptr;
    case Operation::kAtomsCas:
      return type == 0 || type == 2 ? RunExchange : nullptr;
    case Operation::kAtomFloat:
    case Operation::kRedFloat:
      return known_format && word.Bits(87, 3) == 0 ? RunFloat : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
