// The band around a predicted time: 90 % of a normal distribution whose deviation comes from the
// errors of the estimates and from that of the host's time.
//
// The host and the GPU work side by side, so that the host's share of a step's gaps says too little
// of what a slower host does: where the host works most of the step, a step grows with all of that
// work, though the GPU is busy most of the time, too. With T the step, H the host's work in it, G
// the time in which the GPU waited for the host, I that in which it waited for something else, and
// x the error, the step grows by max(G x, H (1 + x) - T): no step is shorter than its host's work.
// It shrinks by max(G x, min(G + I, H x - (T - H))): T - H is how long the host waited, in which it
// gains nothing, and the GPU's own work remains.
#pragma once

namespace eidolon::controller::job {

// Part of one step or of several; any one unit of time.
struct HostPart {
  double length = 0;
  double gaps = 0;  // The GPU waited for the host's calls.
  double idle = 0;  // It ran nothing for another reason.
  double work = 0;  // Of the slowest rank's host.
};

struct Band {
  double low = 0;  // May be negative.
  double high = 0;
};

// Requires: errors of at least 0, of one deviation: the estimates' in the unit of `host`, the
// host's relative to its work.
Band BandOf(double estimates_error, double host_error, const HostPart& host);

}  // namespace eidolon::controller::job
