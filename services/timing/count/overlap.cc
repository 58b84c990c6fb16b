#include "services/timing/count/overlap.h"

#include <algorithm>
#include <cmath>

namespace eidolon::timing::count {

double Overlapped(double power, std::span<const double> parts) {
  // The longest is taken out: powers of seconds would be tiny.
  const double longest = parts.empty() ? 0 : std::ranges::max(parts);
  if (longest <= 0) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(part / longest, power);
  return longest * std::pow(sum, 1 / power);
}

double QueueSeconds(double customers, double alone, double served) {
  const double each = served / customers;
  double together = alone + served;
  double waiting = 0;  // Customers at the server, as one that comes finds it.
  for (double count = 1; count <= customers; ++count) {
    const double there = each * (1 + waiting);
    together = alone + there;
    waiting = together > 0 ? count * there / together : 0;
  }
  return together;
}

double TwoServersSeconds(double customers, double first, double second) {
  const double of_first = first / customers, of_second = second / customers;
  double together = first + second;
  double at_first = 0, at_second = 0;  // Customers there, as one that comes finds them.
  for (double count = 1; count <= customers; ++count) {
    const double there = of_first * (1 + at_first), then = of_second * (1 + at_second);
    together = there + then;
    at_first = together > 0 ? count * there / together : 0;
    at_second = together > 0 ? count * then / together : 0;
  }
  return together;
}

double QueueSecondsBesideStores(double customers, double alone, double served, double stored) {
  if (stored <= 0) return QueueSeconds(customers, alone, served);
  // Stores occupy the server for `stored` of the time that is sought, so that the rest takes as
  // much longer: the only time that follows from itself, between these two.
  double least = stored, most = alone + served;
  constexpr int kSteps = 50;
  for (int i = 0; i < kSteps; ++i) {
    const double middle = (least + most) / 2;
    const double others = (served - stored) / std::max(1 - stored / middle, 1e-9);
    (middle < QueueSeconds(customers, alone, others) ? least : most) = middle;
  }
  return most;
}

}  // namespace eidolon::timing::count
