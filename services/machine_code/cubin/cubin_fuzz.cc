#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/index.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::cubin;
  const auto code = ParseCubin(std::as_bytes(std::span(data, size)));
  if (code && !Index::Open(BuildIndex(*code, {}))) __builtin_trap();
  return 0;
}
