// Whatever bytes a connection sends, they are requests, the beginning of one, or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/agent/rendezvous/request.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace rendezvous = eidolon::agent::rendezvous;
  std::string_view left(reinterpret_cast<const char*>(data), size);
  while (true) {
    const auto read = rendezvous::TakeRequest(left);
    if (!read) {
      CHECK(!read.error().message.empty());
      return 0;
    }
    if (!read->has_value()) return 0;
    CHECK((*read)->bytes > 0 && (*read)->bytes <= left.size());
    left.remove_prefix((*read)->bytes);
  }
}
