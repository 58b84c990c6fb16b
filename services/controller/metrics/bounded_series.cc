#include "services/controller/metrics/bounded_series.h"

namespace eidolon::controller::metrics {

void BoundedSeries::Set(const Key& object, Gauges* family, double value, prometheus::Labels more) {
  more["namespace"] = object.first;
  more[label_] = object.second;
  const std::lock_guard lock(mutex_);
  prometheus::Gauge& gauge = family->Add(more);
  gauge.Set(value);
  series_[object][&gauge] = family;
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
