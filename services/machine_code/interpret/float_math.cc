// Directed roundings use the host's rounding mode, which is right to the last bit and needs no
// arithmetic of our own. Even with -frounding-math a compiler may move an operation across the call
// that sets the mode, so values pass through empty assembly on both sides of it. Changing the mode
// is slow, so callers compute roundings to nearest themselves where these are frequent.
#include "services/machine_code/interpret/float_math.h"

#include <cfenv>

namespace eidolon::interpret {
namespace {

// Built with -frounding-math: operations between set and restore use the mode.
class Mode {
 public:
  explicit Mode(Rounding rounding) : old_(std::fegetround()) {
    static constexpr int kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    std::fesetround(kModes[static_cast<int>(rounding)]);
  }
  ~Mode() { std::fesetround(old_); }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;

 private:
  int old_;
};

// Keeps the compiler from moving a computation across a change of mode.
template <typename Number>
Number Opaque(Number value) {
  asm("" : "+x"(value) : : "memory");
  return value;
}

template <typename Number>
Number AddIn(Number a, Number b, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(Opaque(a) + Opaque(b));
}

template <typename Number>
Number MultiplyIn(Number a, Number b, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(Opaque(a) * Opaque(b));
}

template <typename Number>
Number MultiplyAddIn(Number a, Number b, Number c, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(std::fma(Opaque(a), Opaque(b), Opaque(c)));
}

}  // namespace

float Add(float a, float b, Rounding rounding) { return AddIn(a, b, rounding); }
float Multiply(float a, float b, Rounding rounding) { return MultiplyIn(a, b, rounding); }
float MultiplyAdd(float a, float b, float c, Rounding rounding) {
  return MultiplyAddIn(a, b, c, rounding);
}
double Add(double a, double b, Rounding rounding) { return AddIn(a, b, rounding); }
double Multiply(double a, double b, Rounding rounding) { return MultiplyIn(a, b, rounding); }
double MultiplyAdd(double a, double b, double c, Rounding rounding) {
  return MultiplyAddIn(a, b, c, rounding);
}

float Narrow(double value, Rounding rounding) {
  const Mode mode(rounding);
  return Opaque(static_cast<float>(Opaque(value)));
}

}  // namespace eidolon::interpret
