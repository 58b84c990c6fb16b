#include "shim/value/compute/number.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "services/base/small_float.h"

namespace eidolon::shim::compute {
namespace {

template <typename T>
T ReadAs(const unsigned char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

template <typename T>
void WriteAs(T value, unsigned char* bytes) {
  std::memcpy(bytes, &value, sizeof(value));
}

}  // namespace

std::size_t BytesOf(Element type) {
  static constexpr std::size_t kBytes[] = {0, 2, 2, 4, 8, 8, 16, 1, 4};
  return kBytes[static_cast<std::size_t>(type)];
}

Number ReadNumber(const unsigned char* bytes, Element type) {
  switch (type) {
    case Element::kHalf:
      return static_cast<double>(base::HalfToFloat(ReadAs<std::uint16_t>(bytes)));
    case Element::kBfloat:
      return static_cast<double>(base::BfloatToFloat(ReadAs<std::uint16_t>(bytes)));
    case Element::kFloat:
      return static_cast<double>(ReadAs<float>(bytes));
    case Element::kDouble:
      return ReadAs<double>(bytes);
    case Element::kComplexFloat:
      return {static_cast<double>(ReadAs<float>(bytes)),
              static_cast<double>(ReadAs<float>(bytes + 4))};
    case Element::kComplexDouble:
      return {ReadAs<double>(bytes), ReadAs<double>(bytes + 8)};
    case Element::kInt8:
      return static_cast<double>(ReadAs<std::int8_t>(bytes));
    case Element::kInt32:
      return static_cast<double>(ReadAs<std::int32_t>(bytes));
    case Element::kNone:
      break;
  }
  return {};
}

void WriteNumber(Number number, Element type, unsigned char* bytes) {
  const double real = number.real();
  switch (type) {
    case Element::kHalf:
      return WriteAs(base::DoubleToHalf(real), bytes);
    case Element::kBfloat:
      return WriteAs(base::DoubleToBfloat(real), bytes);
    case Element::kFloat:
      return WriteAs(static_cast<float>(real), bytes);
    case Element::kDouble:
      return WriteAs(real, bytes);
    case Element::kComplexFloat:
      WriteAs(static_cast<float>(real), bytes);
      return WriteAs(static_cast<float>(number.imag()), bytes + 4);
    case Element::kComplexDouble:
      WriteAs(real, bytes);
      return WriteAs(number.imag(), bytes + 8);
    case Element::kInt8:  // Saturates.
      return WriteAs(static_cast<std::int8_t>(std::clamp(std::nearbyint(real), -128.0, 127.0)),
                     bytes);
    case Element::kInt32:  // Sums wrap around.
      return WriteAs(static_cast<std::int32_t>(static_cast<std::int64_t>(std::fmod(real, 0x1p32))),
                     bytes);
    case Element::kNone:
      return;
  }
}

}  // namespace eidolon::shim::compute
