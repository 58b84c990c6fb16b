#include "services/machine_code/cubin/index.h"
#include "services/machine_code/cubin/ptx.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace eidolon::cubin;
  const auto code = ParsePtx({reinterpret_cast<const char*>(data), size});
  if (code && !Index::Open(BuildIndex(*code, {}))) __builtin_trap();
  return 0;
}
