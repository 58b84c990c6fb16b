#include "services/runtime/metrics_page.h"

#include <prometheus/exposer.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>

#include "services/base/text.h"

namespace eidolon::runtime {

MetricsPage::MetricsPage() : registry_(std::make_shared<prometheus::Registry>()) {}
MetricsPage::~MetricsPage() = default;

std::string MetricsPage::Text() const {
  return prometheus::TextSerializer().Serialize(registry_->Collect());
}

base::Result<int> MetricsPage::Expose(const std::string& address) {
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(address, /*num_threads=*/1);
    exposer_->RegisterCollectable(registry_);
    const auto ports = exposer_->GetListeningPorts();
    if (ports.empty()) {
      return base::Fail(base::ErrorCode::kUnavailable,
                        base::StrCat("metrics page at '", address, "' got no port"));
    }
    return ports.front();
  } catch (const std::exception& failure) {
    return base::Fail(base::ErrorCode::kUnavailable,
                      base::StrCat("cannot serve metrics at '", address, "': ", failure.what()));
  }
}

}  // namespace eidolon::runtime
