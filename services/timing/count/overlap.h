// Computes how the work of blocks on a multiprocessor overlaps: sums of powers for what runs beside
// each other, and a queue for what blocks take turns at. Pure functions; all times in seconds.
#pragma once

#include <span>

namespace eidolon::timing::count {

// Combines parts that overlap unless they are nearly as long: the root of the sum of their powers.
// 0 without any. Requires: power > 0.
double Overlapped(double power, std::span<const double> parts);

// Of customers that go through a multiprocessor together: each spends `alone` by itself and has to
// take its turn at what serves all of them for `served` seconds. Mean value analysis of a closed
// queueing network (Reiser and Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing
// Networks", 1980): one customer needs the sum, of many the one hides behind the other. Requires:
// at least one customer.
double QueueSeconds(double customers, double alone, double served);
// The same, of several that serve.
double QueueSeconds(double customers, double alone, std::span<const double> served);

// The same, where nobody waits for `stored` of what is served: stores go on while the
// customer, or who follows it, does something else, and take their share of the server.
double QueueSecondsBesideStores(double customers, double alone, double served, double stored);

}  // namespace eidolon::timing::count
