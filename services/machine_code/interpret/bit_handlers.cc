// LOP3 computes any function of three bits by a table of eight. AND, OR and XOR have loops of their
// own, which compile to single vector instructions; the general way (ByTable) is a sum of products
// over the table, with many instructions for each lane. Both must give the same. So must the
// uniform versions (uniform_handlers.cc), which share the arithmetic in bit_math.h.
#include <algorithm>
#include <bit>

#include "services/machine_code/interpret/bit_math.h"
#include "services/machine_code/interpret/handlers.h"
#include "services/machine_code/interpret/lanes.h"
#include "services/machine_code/interpret/widest.h"

namespace eidolon::interpret {
namespace {

using sass::Operation;
using sass::Word;

void RunLop3(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t table = step.word.Bits(72, 8);
  Lanes x;
  Lanes y;
  Lanes z;
  Lanes out;
  const std::uint32_t* a = Plain(warp, step.a, x);
  const std::uint32_t* b = Plain(warp, step.b, y);
  const std::uint32_t* c = Plain(warp, step.c, z);
  switch (table) {
    case 0xc0:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = a[i] & b[i];
      break;
    case 0xfc:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = a[i] | b[i];
      break;
    case 0x3c:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = a[i] ^ b[i];
      break;
    case 0x96:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = a[i] ^ b[i] ^ c[i];
      break;
    default:
      for (unsigned i = 0; i < kLanes; ++i) out[i] = ByTable(a[i], b[i], c[i], table);
      break;
  }
  if (step.word.Bits(81, 3) != sass::kTruePredicate) {
    const std::uint32_t any = Compare(
        out.data(), out.data(), [](std::uint32_t value, std::uint32_t) { return value != 0; });
    const std::uint32_t other = ReadPredicate(warp, step.word, 87);
    PutPredicate(warp, step.word, 81, mask, step.word.Bit(80) ? any & other : any | other);
  }
  Put(warp, step.target, mask, out);
}

void RunPrmt(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint64_t mode = step.word.Bits(72, 3);
  MapPlain(warp, step, mask, [mode](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return Permute(a, b, c, mode);
  });
}

void RunShf(Warp& warp, const Step& step, std::uint32_t mask) {
  MapPlain(warp, step, mask, FunnelShift(step.word));
}

void RunSgxt(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool is_unsigned = !step.word.Bit(73);
  const bool wraps = step.word.Bit(75);
  MapPlain(warp, step, mask, [=](std::uint32_t a, std::uint32_t b, std::uint32_t) -> std::uint32_t {
    const std::uint32_t width = wraps ? b & 31 : b;
    if (width >= 32) return a;
    if (width == 0) return 0;
    const std::uint32_t kept = a & ((1u << width) - 1);
    const std::uint32_t sign = 1u << (width - 1);
    return is_unsigned ? kept : (kept ^ sign) - sign;
  });
}

void RunBmsk(Warp& warp, const Step& step, std::uint32_t mask) {
  const bool wraps = step.word.Bit(75);
  MapPlain(warp, step, mask, [wraps](std::uint32_t a, std::uint32_t b, std::uint32_t) {
    return BitField(a, b, wraps);
  });
}

// Operands of POPC and FLO may be complemented.
std::uint32_t FlipOf(const Word& word) { return word.Bit(63) ? ~0u : 0u; }

void RunPopc(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t flip = FlipOf(step.word);
  MapPlain(warp, step, mask, [flip](std::uint32_t, std::uint32_t b, std::uint32_t) {
    return static_cast<std::uint32_t>(std::popcount(b ^ flip));
  });
}

void RunFlo(Warp& warp, const Step& step, std::uint32_t mask) {
  const std::uint32_t flip = FlipOf(step.word);
  const bool is_signed = step.word.Bit(73);
  const bool as_shift = step.word.Bit(74);
  Lanes x;
  Lanes out;
  const std::uint32_t* b = Plain(warp, step.b, x);
  std::uint32_t found = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    out[i] = FindLeading(b[i] ^ flip, is_signed, as_shift);
    found |= std::uint32_t{out[i] != ~0u} << i;
  }
  PutPredicate(warp, step.word, 81, mask, found);
  Put(warp, step.target, mask, out);
}

void RunBrev(Warp& warp, const Step& step, std::uint32_t mask) {
  MapPlain(warp, step, mask,
           [](std::uint32_t, std::uint32_t b, std::uint32_t) { return Reversed(b); });
}

}  // namespace

Handler FindBitHandler(Operation operation, const Word& word) {
  switch (operation) {
    case Operation::kLop3:
      return Widest<RunLop3>();
    case Operation::kPrmt:
      return word.Bits(72, 3) < 7 ? Widest<RunPrmt>() : nullptr;
    case Operation::kShf:
      return Widest<RunShf>();
    case Operation::kSgxt:
      return RunSgxt;
    case Operation::kBmsk:
      return RunBmsk;
    case Operation::kPopc:
      return RunPopc;
    case Operation::kFlo:
      return RunFlo;
    case Operation::kBrev:
      return RunBrev;
    default:
      return nullptr;
  }
}

}  // namespace eidolon::interpret
