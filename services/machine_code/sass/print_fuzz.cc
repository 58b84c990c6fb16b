#include <cstring>

#include "services/machine_code/sass/form.h"
#include "services/machine_code/sass/print.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::sass;
  for (std::size_t at = 0; at + kWordBytes <= size; at += kWordBytes) {
    Word word;
    std::memcpy(&word, data + at, sizeof(word));
    for (std::size_t i = 0; i < kDialects; ++i) {
      if (Print(word, at, static_cast<Dialect>(i)).empty()) __builtin_trap();
    }
  }
  return 0;
}
