// Handlers compiled for the widest vectors of this machine: the same function three times, of which
// one is chosen when a kernel is translated. Results do not depend on the choice: products and sums
// are never fused (-ffp-contract=off).
#pragma once

#include <cstdint>

#include "services/interpret/program.h"

namespace eidolon::interpret {

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
  static const bool has_256 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  static const bool has_512 = has_256 && __builtin_cpu_supports("avx512f") != 0 &&
                              __builtin_cpu_supports("avx512bw") != 0 &&
                              __builtin_cpu_supports("avx512dq") != 0 &&
                              __builtin_cpu_supports("avx512vl") != 0;
  return has_512 ? RunOn512<kHandler> : has_256 ? RunOn256<kHandler> : kHandler;
}

#else

template <Handler kHandler>
Handler Widest() {
  return kHandler;
}

#endif

}  // namespace eidolon::interpret
