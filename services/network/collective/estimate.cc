#include "services/network/collective/estimate.h"

#include <algorithm>

namespace eidolon::network::collective {

float RelativeError(const Call& call, const Shape& shape) {
  // Mean absolute error on held-out logs (docs/reference/generated/network_validation.md); rows:
  // one server, two to four, more; columns: up to 64 KiB, up to 16 MiB, above. Small messages on
  // one server have no clean log of a switched server; sizes without a log count half as much
  // again.
  constexpr float kErrors[3][3] = {
      {0.25f, 0.20f, 0.04f}, {0.10f, 0.15f, 0.03f}, {0.15f, 0.25f, 0.08f}};
  const int row = shape.nodes == 1 ? 0 : shape.nodes <= 4 ? 1 : 2;
  const int column = call.bytes <= 64 * 1024 ? 0 : call.bytes <= 16 * 1024 * 1024 ? 1 : 2;
  const bool logged = call.kind == Kind::kAllReduce || call.kind == Kind::kAllGather ||
                      call.kind == Kind::kReduceScatter;
  // Over PCIe the logs are of one server alone.
  const float slots = shape.nvlink ? 1.0f : 2.0f;
  return std::min(1.0f, kErrors[row][column] * (logged ? 1.0f : 1.5f) * slots);
}

}  // namespace eidolon::network::collective
