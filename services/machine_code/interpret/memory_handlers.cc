// Every access goes through Reach (access.h), lane by lane, because each lane may leave memory,
// meet an unknown byte or a page that must be marked; the first that cannot be done ends the
// launch. A load writes its registers only after all lanes have read, since a target may hold the
// address. What a GPU does asynchronously is done at once: a program that is right waits before it
// looks, so it cannot tell. A load of a part of a word fills the rest of the register with zeros or
// the sign.
#include <array>
#include <cstring>

#include "services/machine_code/interpret/access.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/shuffle.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

// The size field of loads and stores.
struct Width {
  unsigned bytes;
  bool is_signed;
};
constexpr std::array<Width, 8> kWidths = {{{1, false},
                                           {1, true},
                                           {2, false},
                                           {2, true},
                                           {4, false},
                                           {8, false},
                                           {16, false},
                                           {0, false}}};

Width WidthOf(const Word& word) { return kWidths[word.Bits(73, 3)]; }

std::uint32_t Extended(const std::byte* from, Width width) {
  std::uint32_t value = 0;
  std::memcpy(&value, from, width.bytes < 4 ? width.bytes : 4);
  if (!width.is_signed) return value;
  return width.bytes == 1 ? static_cast<std::uint32_t>(
                                static_cast<std::int32_t>(static_cast<std::int8_t>(value)))
                          : static_cast<std::uint32_t>(
                                static_cast<std::int32_t>(static_cast<std::int16_t>(value)));
}

// Loads for each lane from place(lane) into the target registers. All lanes read before any writes:
// targets may be the address.
template <typename PlaceFor>
void LoadLanes(Warp& warp, const Step& step, std::uint32_t mask, PlaceFor&& place) {
  const Width width = WidthOf(step.word);
  std::array<Lanes, 4> out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const std::byte* from = Reach(warp, lane, place(lane), width.bytes, true, false);
    if (from == nullptr) return;
    out[0][lane] = Extended(from, width);
    for (unsigned word = 1; word * 4 < width.bytes; ++word) {
      std::memcpy(&out[word][lane], from + 4 * word, 4);
    }
  }
  for (unsigned word = 0; word == 0 || word * 4 < width.bytes; ++word) {
    Put(warp, step.target == kLostRow ? kLostRow : step.target + word, mask, out[word]);
  }
}

template <typename PlaceFor>
void StoreLanes(Warp& warp, const Step& step, std::uint32_t mask, PlaceFor&& place) {
  const Width width = WidthOf(step.word);
  const unsigned row = SourceRow(step.word.Bits(32, 8));
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::byte* to = Reach(warp, lane, place(lane), width.bytes, false, true);
    if (to == nullptr) return;
    for (unsigned word = 0; word == 0 || word * 4 < width.bytes; ++word) {
      const std::uint32_t value = warp.Row(row == kZeroRow ? row : row + word)[lane];
      std::memcpy(to + 4 * word, &value, width.bytes < 4 ? width.bytes : 4);
    }
  }
}

void RunLdg(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 32);
  LoadLanes(warp, step, mask, [&](unsigned lane) { return Place{Space::kGlobal, address[lane]}; });
}

void RunLd(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 32);
  LoadLanes(warp, step, mask, [&](unsigned lane) { return PlaceOfGeneric(address[lane]); });
}

// 32 bytes: four words to, or from, each of two ranges of registers.
void RunLdgWide(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 32);
  std::array<Lanes, 8> out;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const std::byte* from = Reach(warp, lane, {Space::kGlobal, address[lane]}, 32, true, false);
    if (from == nullptr) return;
    for (unsigned word = 0; word < 8; ++word) std::memcpy(&out[word][lane], from + 4 * word, 4);
  }
  const unsigned second = TargetRow(step.word.Bits(64, 8));
  for (unsigned word = 0; word < 4; ++word) {
    Put(warp, step.target == kLostRow ? kLostRow : step.target + word, mask, out[word]);
    Put(warp, second == kLostRow ? kLostRow : second + word, mask, out[word + 4]);
  }
}

void RunStgWide(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 64);
  const std::array<unsigned, 2> rows = {SourceRow(step.word.Bits(32, 8)),
                                        SourceRow(step.word.Bits(16, 8))};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    std::byte* to = Reach(warp, lane, {Space::kGlobal, address[lane]}, 32, false, true);
    if (to == nullptr) return;
    for (unsigned word = 0; word < 8; ++word) {
      const unsigned row = rows[word / 4];
      std::memcpy(to + 4 * word, &warp.Row(row == kZeroRow ? row : row + word % 4)[lane], 4);
    }
  }
}

void RunStg(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 64);
  StoreLanes(warp, step, mask, [&](unsigned lane) { return Place{Space::kGlobal, address[lane]}; });
}

void RunSt(Warp& warp, const Step& step, std::uint32_t mask) {
  const GlobalAddress address(warp, step, 64);
  StoreLanes(warp, step, mask, [&](unsigned lane) { return PlaceOfGeneric(address[lane]); });
}

void RunNearLoad(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool shared = step.operation == Operation::kLds;
  const NearAddress address(warp, step, 32, shared);
  const Space space = shared ? Space::kShared : Space::kLocal;
  LoadLanes(warp, step, mask, [&](unsigned lane) { return Place{space, address[lane]}; });
}

void RunNearStore(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool shared = step.operation == Operation::kSts;
  const NearAddress address(warp, step, 64, shared);
  const Space space = shared ? Space::kShared : Space::kLocal;
  StoreLanes(warp, step, mask, [&](unsigned lane) { return Place{space, address[lane]}; });
}

// Copies from global to shared memory; "asynchronous" is at once here.
void RunLdgsts(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const unsigned size = WidthOf(word).bytes;
  const unsigned row = SourceRow(word.Bits(24, 8));
  const std::uint32_t* low = warp.Row(row);
  const std::uint32_t* high = warp.Row(row == kZeroRow ? row : row + 1);
  const std::uint32_t* shared = warp.Row(SourceRow(word.Bits(16, 8)));
  const std::uint32_t real = ReadPredicate(warp, word, 87);
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    const std::uint64_t from = (std::uint64_t{high[lane]} << 32 | low[lane]) +
                               static_cast<std::uint64_t>(word.Signed(32, 12));
    const std::uint32_t to = shared[lane] + static_cast<std::uint32_t>(word.Signed(44, 20));
    std::byte* target = Reach(warp, lane, {Space::kShared, to}, size, false, true);
    if (target == nullptr) return;
    if ((real >> lane & 1) == 0) {
      std::memset(target, 0, size);
      continue;
    }
    const std::byte* source = Reach(warp, lane, {Space::kGlobal, from}, size, true, false);
    if (source == nullptr) return;
    std::memcpy(target, source, size);
  }
}

void RunLdc(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const Width width = WidthOf(word);
  const std::uint32_t* index = warp.Row(SourceRow(word.Bits(24, 8)));
  const auto offset = static_cast<std::uint32_t>(word.Signed(38, 16));
  const std::uint32_t bank = sass::ConstantBank(word);
  if (index == warp.Row(kZeroRow) && width.bytes >= 4 && offset % 4 == 0) {  // Mostly.
    Lanes same;
    for (unsigned i = 0; i < width.bytes / 4; ++i) {
      same.fill(ReadConstant(*warp.launch, bank, offset + 4 * i));
      Put(warp, step.target == kLostRow ? kLostRow : step.target + i, mask, same);
    }
    return;
  }
  Lanes low;
  Lanes high{};
  const auto read = [&](unsigned lane) {
    const std::uint32_t at = index[lane] + offset;
    const std::uint32_t value = ReadConstant(*warp.launch, bank, at & ~3u) >> (8 * (at & 3));
    std::byte bytes[4];
    std::memcpy(bytes, &value, 4);
    low[lane] = Extended(bytes, width);
    if (width.bytes == 8) high[lane] = ReadConstant(*warp.launch, bank, at + 4);
  };
  if (index == warp.Row(kZeroRow)) {  // Mostly: all lanes read the same.
    read(0);
    low.fill(low[0]);
    high.fill(high[0]);
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0) read(lane);
    }
  }
  Put(warp, step.target, mask, low);
  if (width.bytes == 8) Put(warp, NextRow(step.target), mask, high);
}

void RunUldc(Warp& warp, const Step& step, std::uint32_t) {
  const Word& word = step.word;
  const Width width = WidthOf(word);
  const sass::UniformLoad place = sass::UniformLoadOf(word, step.dialect);
  std::uint32_t at = place.offset;
  if (place.index != sass::kZeroUniform) at += warp.uniform[place.index];
  at &= 0xffff;
  const std::uint32_t bank = sass::ConstantBank(word);
  const std::uint32_t value = ReadConstant(*warp.launch, bank, at & ~3u) >> (8 * (at & 3));
  std::byte bytes[4];
  std::memcpy(bytes, &value, 4);
  if (step.target >= sass::kZeroUniform) return;
  warp.uniform[step.target] = Extended(bytes, width);
  for (std::uint32_t i = 1; 4 * i < width.bytes && step.target + i < sass::kZeroUniform; ++i) {
    warp.uniform[step.target + i] = ReadConstant(*warp.launch, bank, at + 4 * i);
  }
}

constexpr std::uint64_t kDistributed = 3;

// True when a generic address lies in the space that the instruction names.
void RunQspc(Warp& warp, const Step& step, std::uint32_t mask) {
  const unsigned row = SourceRow(step.word.Bits(24, 8));
  const std::uint32_t* low = warp.Row(row);
  const std::uint32_t* high = warp.Row(row == kZeroRow ? row : row + 1);
  static constexpr std::array<Space, 3> kSpaces = {Space::kGlobal, Space::kLocal, Space::kShared};
  const std::uint64_t asked = step.word.Bits(73, 3);
  // Nothing is run here that reaches the shared memory of another block of its cluster.
  if (asked == kDistributed) return PutPredicate(warp, step.word, 81, mask, 0);
  const Space wanted = kSpaces[asked];
  std::uint32_t result = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t address = (std::uint64_t{high[lane]} << 32 | low[lane]) +
                                  static_cast<std::uint64_t>(step.word.Signed(40, 24));
    result |= std::uint32_t{PlaceOfGeneric(address).space == wanted} << lane;
  }
  PutPredicate(warp, step.word, 81, mask, result);
}

void RunShfl(Warp& warp, const Step& step, std::uint32_t mask) {
  const Word& word = step.word;
  const std::uint32_t* values = warp.Row(SourceRow(word.Bits(24, 8)));
  const Shuffle shuffle(word, warp.Row(SourceRow(word.Bits(32, 8))),
                        warp.Row(SourceRow(word.Bits(64, 8))));
  Lanes out;
  for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = values[shuffle.from[lane]];
  PutPredicate(warp, word, 81, mask, shuffle.inside);
  Put(warp, step.target, mask, out);
}

}  // namespace

Handler FindMemoryHandler(Operation operation, const Word& word) {
  const bool sized = WidthOf(word).bytes != 0;
  switch (operation) {
    case Operation::kLdg:  // No second predicates.
      if (word.Bits(64, 4) != 0 || word.Bits(81, 3) != sass::kTruePredicate) return nullptr;
      return sized ? Widest<RunLdg>() : nullptr;
    case Operation::kLd:
      return sized && word.Bits(64, 4) == 0 ? RunLd : nullptr;
    case Operation::kLdgWide:
      return RunLdgWide;
    case Operation::kStgWide:
      return RunStgWide;
    case Operation::kStg:
      return sized ? Widest<RunStg>() : nullptr;
    case Operation::kSt:
      return sized ? RunSt : nullptr;
    case Operation::kLds:
    case Operation::kLdl:
      return sized ? RunNearLoad : nullptr;
    case Operation::kSts:
    case Operation::kStl:
      return sized ? RunNearStore : nullptr;
    case Operation::kLdgsts:
      return sized && word.Bit(76) && word.Bit(72) ? RunLdgsts : nullptr;
    case Operation::kLdc:
      return word.Bits(78, 2) == 0 && WidthOf(word).bytes <= 8 ? Widest<RunLdc>() : nullptr;
    case Operation::kUldc:
      return sized && !word.Bit(80) ? RunUldc : nullptr;
    case Operation::kQspc:
      return word.Bits(73, 3) <= kDistributed && word.Bits(16, 8) == sass::kZeroRegister ? RunQspc
                                                                                         : nullptr;
    case Operation::kShfl:
      return RunShfl;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
