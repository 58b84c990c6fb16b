// Decides which collectives, sends and receives carry values between ranks: one rule for the shim,
// which gives and takes them, the agent and the network service, which computes results.
#pragma once

#include <cstdint>

namespace eidolon::collective {

// No buffer carries more.
inline constexpr std::uint64_t kValueBytesLimit = 4 << 20;

// Returns whether an ncclDataType_t is ncclInt8 or ncclUint8, in which programs send pickled
// objects.
constexpr bool IsByte(std::uint32_t data_type) { return data_type <= 1; }

// Operations whose buffers are at most this large carry values, when they are known. Programs send
// each other pickled objects as bytes, a checkpoint's description among them.
constexpr std::uint64_t ValueBytesMax(bool reduces, std::uint32_t data_type) {
  return IsByte(data_type) && !reduces ? kValueBytesLimit : 64 << 10;
}

}  // namespace eidolon::collective
