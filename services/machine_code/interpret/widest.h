// Handlers compiled for the widest vectors of this machine: the same function three times, of which
// one is chosen when a kernel is translated. Results do not depend on the choice: products and sums
// are never fused (-ffp-contract=off).
#pragma once

#include <cstdint>

#include "services/machine_code/interpret/program.h"

namespace eidolon::interpret {

// Returns the bits of this machine, as far as there are handlers for them: 512, 256 or 0.
// EIDOLON_VECTOR_BITS in the environment says the most.
unsigned VectorBits();

#if defined(__x86_64__)

// The attributes have the whole handler, with all that it calls, compiled for the instructions.
template <Handler kHandler>
[[gnu::target("avx2,fma"), gnu::flatten]] void RunOn256(Warp& warp, const Step& step,
                                                        std::uint32_t mask) {
  kHandler(warp, step, mask);
}

template <Handler kHandler>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"), gnu::flatten]] void RunOn512(
    Warp& warp, const Step& step, std::uint32_t mask) {
  kHandler(warp, step, mask);
}

template <Handler kHandler>
Handler Widest() {
  const unsigned bits = VectorBits();
  return bits == 512 ? RunOn512<kHandler> : bits == 256 ? RunOn256<kHandler> : kHandler;
}

#else

template <Handler kHandler>
Handler Widest() {
  return kHandler;
}

#endif

}  // namespace eidolon::interpret
