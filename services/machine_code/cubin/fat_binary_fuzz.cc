#include "services/machine_code/cubin/fat_binary.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::cubin;
  const auto binary = FatBinary::Parse(std::as_bytes(std::span(data, size)));
  if (!binary) return 0;
  binary->Choose({9, 0});
  for (const FatEntry& entry : binary->entries()) {
    // The limit keeps the fuzzer from spending its time on filling memory.
    if (entry.unpacked_bytes < (1 << 20)) (void)Unpack(entry);
  }
  return 0;
}
