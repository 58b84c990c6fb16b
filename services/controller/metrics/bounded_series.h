// Series that belong to one object, such as a job: they go with it, and of objects that are over
// only the last ones have some.
#pragma once

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace eidolon::controller::metrics {

// Thread safe.
class BoundedSeries {
 public:
  using Gauges = prometheus::Family<prometheus::Gauge>;
  using Key = std::pair<std::string, std::string>;  // Namespace and name.

  // `label` holds the name, beside "namespace"; `over_max` objects that are over keep their series.
  BoundedSeries(std::string label, std::size_t over_max)
      : label_(std::move(label)), over_max_(over_max) {}

  // Requires: the family outlives this object.
  void Set(const Key& object, Gauges* family, double value, prometheus::Labels more = {});
  // The object's series of one family become these, by their labels; others of it go.
  void SetAll(const Key& object, Gauges* family,
              const std::vector<std::pair<prometheus::Labels, double>>& values);
  void End(const Key& object);
  void Forget(const Key& object);

 private:
  prometheus::Gauge& SetLocked(const Key& object, Gauges* family, double value,
                               prometheus::Labels more);  // Requires mutex_.
  void Remove(const Key& object);                         // Requires mutex_.

  const std::string label_;
  const std::size_t over_max_;
  std::mutex mutex_;      // Guards what follows.
  std::deque<Key> over_;  // Those that may have series, oldest first.
  std::map<Key, std::map<prometheus::Gauge*, Gauges*>> series_;
};

}  // namespace eidolon::controller::metrics
