// Device code for the tests: the sample of services/machine_code/cubin, which has kernels with
// every kind of parameter.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "shim/gpu/memory/arena.h"
#include "source_tree.h"

namespace eidolon::shim::gpu {

// A file of services/machine_code/cubin/testdata.
inline std::string ReadSample(const std::string& name) {
  std::ifstream stream(
      std::string(EIDOLON_SOURCE_DIR) + "/services/machine_code/cubin/testdata/" + name,
      std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

// Kernels: scale(u64 out, f32 factor, u32 count), tile(40 bytes, u8, u64 out; 4 KiB shared, at most
// 256 threads), nothing(), _Z4bulkPN3foo3BarE(4200 bytes, u64; exactly 128 threads). Variables:
// counter (4 bytes), table (256), factors (16, constant).
inline const std::string& SampleFatBinary() {
  static const std::string file = ReadSample("zstandard.fatbin");
  return file;
}

// Kernels that write in ways of their own: those of stores.ptx.
inline const std::string& StoresCubin() {
  static const std::string file = ReadSample("stores.cubin");
  return file;
}

// Contents of .nvFatBinSegment in a host object.
struct SampleWrapper {
  std::uint32_t magic = 0x466243b1;
  std::uint32_t version = 1;
  const void* data = SampleFatBinary().data();
  const void* linked = nullptr;
};

// An address of the first device that memory was handed out at, as far as anybody can tell.
inline std::uint64_t DeviceAddress(std::uint64_t offset) {
  std::uint64_t used = arena_used[0].load();
  while (used <= offset && !arena_used[0].compare_exchange_weak(used, offset + 1)) {
  }
  return kArenaBegin + offset;
}

}  // namespace eidolon::shim::gpu
