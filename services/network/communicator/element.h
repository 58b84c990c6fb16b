// NCCL's element types: their sizes and names.
#pragma once

#include <cstdint>
#include <string_view>

namespace eidolon::network::communicator {

// ncclDataType_t's numbers.
enum ElementType : std::uint32_t {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kFloat8E4m3 = 10,
  kFloat8E5m2 = 11,
};

// 0 for a number that names no type.
std::uint32_t ElementBytes(std::uint32_t type);
// "float32"; "type 99" is "unknown".
std::string_view ElementName(std::uint32_t type);

}  // namespace eidolon::network::communicator
