#include "services/machine_code/interpret/widest.h"

#include <cstdlib>

namespace eidolon::interpret {
namespace {

unsigned FindVectorBits() {
  unsigned bits = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) bits = 256;
  if (bits != 0 && __builtin_cpu_supports("avx512f") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512vl") != 0) {
    bits = 512;
  }
#endif
  const char* most = std::getenv("EIDOLON_VECTOR_BITS");
  if (most == nullptr) return bits;
  const unsigned long limit = std::strtoul(most, nullptr, 10);
  return limit >= bits ? bits : limit >= 256 ? 256 : 0;
}

}  // namespace

unsigned VectorBits() {
  static const unsigned bits = FindVectorBits();
  return bits;
}

}  // namespace eidolon::interpret
