#include "services/controller/kube/retry.h"

#include <algorithm>
#include <cstdint>

#include "services/base/text.h"

namespace eidolon::controller::kube {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<milliseconds> PauseBeforeRetry(int tries, std::string_view retry_after,
                                             milliseconds left) {
  if (tries >= kTriesMax) return std::nullopt;
  milliseconds pause(100 << (tries - 1));
  if (const auto asked = base::ParseInteger(retry_after)) {
    // The value is the server's: it may be negative, or overflow in milliseconds.
    const std::int64_t longest = std::chrono::ceil<seconds>(left).count();
    pause = seconds(std::clamp<std::int64_t>(*asked, 0, std::max<std::int64_t>(longest, 0)));
  }
  if (pause >= left) return std::nullopt;
  return pause;
}

}  // namespace eidolon::controller::kube
