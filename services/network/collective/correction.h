// Corrects NCCL's table by measurements: pipelines that fill, chunks too small for the NIC, fabrics
// at scale. A curve is the ratio of measured to tabled time over the size, for one algorithm on one
// kind of system; the curves are fitted by `eidolon net validate --fit` to published logs
// (services/network/validation/nccl_logs.csv) and stored in correction_table.inc.
#pragma once

#include <cstdint>
#include <span>

#include "services/network/collective/kind.h"
#include "services/network/collective/shape.h"

namespace eidolon::network::collective {

// Selects the measurements that apply to a call.
struct CurveKey {
  Transport transport = Transport::kInfiniband;  // Inside a server this, or PCIe without NVLink.
  topology::Generation generation = topology::Generation::kHopper;
  bool switched = true;
  Algorithm algorithm = Algorithm::kRing;
  bool all_reduce = true;  // A ring that goes round twice, unlike gathers and scatters.
  std::uint32_t nodes = 1;
  std::uint32_t members = 8;  // Of one server.

  auto operator<=>(const CurveKey&) const = default;
};

struct Curve {
  CurveKey key;
  std::uint32_t first_octave = 0;  // log2 of the bytes of the first ratio; one an octave follows.
  std::span<const float> ratios;
};

// The fitted curves, in key order.
std::span<const Curve> Curves();

CurveKey KeyOf(Kind kind, const Shape& shape, Algorithm algorithm);

// Measured over tabled time: of the curves of the call's algorithm those whose servers hold about
// as many members, interpolated in the logarithms of the size and of the number of servers. Beyond
// the largest measured number of servers, and above the largest size, the last ratio is kept; below
// the smallest size it decays towards 1, to a half in three octaves. 1 where nothing was measured.
double Correction(std::span<const Curve> curves, const CurveKey& key, std::uint64_t bytes);

}  // namespace eidolon::network::collective
