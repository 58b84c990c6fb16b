#include "services/network/communicator/element.h"

namespace eidolon::network::communicator {

std::uint32_t ElementBytes(std::uint32_t type) {
  switch (type) {
    case kInt8:
    case kUint8:
    case kFloat8E4m3:
    case kFloat8E5m2:
      return 1;
    case kFloat16:
    case kBfloat16:
      return 2;
    case kInt32:
    case kUint32:
    case kFloat32:
      return 4;
    case kInt64:
    case kUint64:
    case kFloat64:
      return 8;
    default:
      return 0;
  }
}

std::string_view ElementName(std::uint32_t type) {
  switch (type) {
    case kInt8:
      return "int8";
    case kUint8:
      return "uint8";
    case kInt32:
      return "int32";
    case kUint32:
      return "uint32";
    case kInt64:
      return "int64";
    case kUint64:
      return "uint64";
    case kFloat16:
      return "float16";
    case kFloat32:
      return "float32";
    case kFloat64:
      return "float64";
    case kBfloat16:
      return "bfloat16";
    case kFloat8E4m3:
      return "float8_e4m3";
    case kFloat8E5m2:
      return "float8_e5m2";
    default:
      return "unknown";
  }
}

}  // namespace eidolon::network::communicator
