// The queue is solved exactly, customer by customer: one that arrives finds what a network with one
// customer fewer has on average. So it takes as many steps as there are customers.
#include "services/timing/count/overlap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

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
  return QueueSeconds(customers, alone, std::array{served});
}

double QueueSeconds(double customers, double alone, std::span<const double> served) {
  double together = alone;
  std::vector<double> waiting(served.size());  // Customers at each, as one that comes finds it.
  std::vector<double> there(served.size());
  for (double count = 1; count <= customers; ++count) {
    together = alone;
    for (std::size_t i = 0; i < served.size(); ++i) {
      there[i] = served[i] / customers * (1 + waiting[i]);
      together += there[i];
    }
    for (std::size_t i = 0; i < served.size(); ++i) {
      waiting[i] = together > 0 ? count * there[i] / together : 0;
    }
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
