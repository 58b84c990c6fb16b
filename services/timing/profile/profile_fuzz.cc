// Any bytes as a profile in JSON Lines: what is read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "services/base/check.h"
#include "services/timing/profile/profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using eidolon::timing::profile::ParseProfile;
  const auto profile = ParseProfile({reinterpret_cast<const char*>(data), size});
  if (profile) CHECK(ParseProfile(FormatProfile(*profile)).has_value());
  return 0;
}
