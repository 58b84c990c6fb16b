#include "services/controller/metrics/bounded_series.h"

#include <set>

namespace eidolon::controller::metrics {

void BoundedSeries::Set(const Key& object, Gauges* family, double value, prometheus::Labels more) {
  const std::lock_guard lock(mutex_);
  SetLocked(object, family, value, std::move(more));
}

void BoundedSeries::SetAll(const Key& object, Gauges* family,
                           const std::vector<std::pair<prometheus::Labels, double>>& values) {
  const std::lock_guard lock(mutex_);
  std::set<const prometheus::Gauge*> kept;
  for (const auto& [labels, value] : values) {
    kept.insert(&SetLocked(object, family, value, labels));
  }
  std::erase_if(series_[object], [&](const auto& one) {
    const auto [gauge, of] = one;
    if (of != family || kept.contains(gauge)) return false;
    family->Remove(gauge);
    return true;
  });
}

prometheus::Gauge& BoundedSeries::SetLocked(const Key& object, Gauges* family, double value,
                                            prometheus::Labels more) {
  more["namespace"] = object.first;
  more[label_] = object.second;
  prometheus::Gauge& gauge = family->Add(more);
  gauge.Set(value);
  series_[object][&gauge] = family;
  return gauge;
}

void BoundedSeries::End(const Key& object) {
  const std::lock_guard lock(mutex_);
  std::erase(over_, object);
  over_.push_back(object);
  if (over_.size() > over_max_) Remove(Key(over_.front()));
}

void BoundedSeries::Forget(const Key& object) {
  const std::lock_guard lock(mutex_);
  Remove(object);
}

void BoundedSeries::Remove(const Key& object) {
  std::erase(over_, object);
  const auto found = series_.find(object);
  if (found == series_.end()) return;
  for (const auto& [gauge, family] : found->second) family->Remove(gauge);
  series_.erase(found);
}

}  // namespace eidolon::controller::metrics
