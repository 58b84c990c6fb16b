#include "services/controller/sweep/prices.h"

namespace eidolon::controller::sweep {
namespace {

constexpr double kPriceMax = 1e9;

}  // namespace

Prices ReadPrices(job::Fields* fields) {
  Prices prices;
  auto price = fields->Object("price");
  if (!price) return prices;
  for (const auto& [gpu, value] : fields->Find("price")->items()) {
    if (!value.is_number() || value.get<double>() < 0 || value.get<double>() > kPriceMax) {
      price->Report(gpu, "must be what an hour of a GPU costs");
      continue;
    }
    prices.emplace_back(gpu, value.get<double>());
  }
  return prices;
}

}  // namespace eidolon::controller::sweep
