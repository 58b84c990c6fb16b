// When a request that the API server refused is sent again. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace eidolon::controller::kube {

// How often one request is sent at most.
inline constexpr int kTriesMax = 4;

// Returns the pause after `tries` refusals: as long as the server asks for in `retry_after`, a
// header's value in seconds, or 100 ms, doubled each time. Nothing: the request is not sent again,
// since it was sent kTriesMax times or `left`, the time of the call, would end during the pause.
std::optional<std::chrono::milliseconds> PauseBeforeRetry(int tries, std::string_view retry_after,
                                                          std::chrono::milliseconds left);

}  // namespace eidolon::controller::kube
