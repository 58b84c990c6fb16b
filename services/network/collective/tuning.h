// NCCL's switches as a job's environment sets them. Variables that change only how real hardware is
// driven (interfaces, debug output, threads of a proxy) have no effect in the model; those that
// would change a duration and that the model lacks are listed in `unmodelled`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/base/error.h"
#include "services/base/sim_time.h"
#include "services/network/collective/kind.h"

namespace eidolon::network::collective {

// Choices NCCL may take for one kind, as bits numbered like the enumerators.
struct Allowed {
  std::uint32_t algorithms = ~0u;
  std::uint32_t protocols = ~0u;

  bool Allows(Algorithm algorithm) const {
    return (algorithms >> static_cast<std::uint32_t>(algorithm) & 1u) != 0;
  }
  bool Allows(Protocol protocol) const {
    return (protocols >> static_cast<std::uint32_t>(protocol) & 1u) != 0;
  }
  bool operator==(const Allowed&) const = default;
};

// Instead of NCCL's choice and of what was measured: each collective is a ring of kFixedChannels
// channels, and takes this alone on the fabric, as does each send.
struct FixedTransfer {
  base::Duration latency;
  std::uint64_t bytes_per_second = 0;
  bool operator==(const FixedTransfer&) const = default;
};
inline constexpr std::uint32_t kFixedChannels = 16;

struct Tuning {
  std::array<Allowed, kKinds> allowed;    // NCCL_ALGO, NCCL_PROTO; by kind.
  std::uint32_t channels_min = 0;         // NCCL_MIN_NCHANNELS, NCCL_MIN_CTAS.
  std::uint32_t channels_max = ~0u;       // NCCL_MAX_NCHANNELS, NCCL_MAX_CTAS.
  bool nvls = true;                       // NCCL_NVLS_ENABLE.
  bool collnet = false;                   // NCCL_COLLNET_ENABLE; needs a fabric with SHARP.
  bool pat = true;                        // NCCL_PAT_ENABLE.
  bool pxn = true;                        // NCCL_PXN_DISABLE.
  std::uint64_t buffer_bytes = 4u << 20;  // NCCL_BUFFSIZE: of a channel, for Simple.
  std::optional<FixedTransfer> fixed;     // Of a job on a GPU with fixed durations.
  std::vector<std::string> unmodelled;    // "NCCL_P2P_LEVEL=SYS", in the order of the names.

  const Allowed& For(Kind kind) const { return allowed[static_cast<std::size_t>(kind)]; }
  bool operator==(const Tuning&) const = default;
};

// Reads the NCCL_ variables among `environment`. Fails, like NCCL's initialisation does, on a word
// that NCCL does not know, with a sentence that names the variable and its value.
base::Result<Tuning> ParseTuning(const std::map<std::string, std::string>& environment);

}  // namespace eidolon::network::collective
