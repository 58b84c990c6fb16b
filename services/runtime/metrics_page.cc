#include "services/runtime/metrics_page.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "services/base/text.h"

namespace eidolon::runtime {

MetricsPage::MetricsPage() : registry_(std::make_shared<prometheus::Registry>()) {}
MetricsPage::~MetricsPage() = default;

std::string MetricsPage::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  std::ranges::move(process_.Collect(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

base::Result<int> MetricsPage::Expose(const std::string& address) {
  auto listener = MetricsListener::Start(
      address, [this] { return Text(); }, clock_);
  if (!listener) {
    return base::Fail(listener.error().code,
                      base::StrCat("cannot serve metrics: ", listener.error().message));
  }
  listener_ = std::move(*listener);
  return listener_->port();
}

}  // namespace eidolon::runtime
