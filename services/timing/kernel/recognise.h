// From a kernel launch to what it asks of the GPU: finds the family by the function's name and the
// sizes in the parameters.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "services/timing/kernel/demand.h"
#include "services/timing/kernel/kernel_name.h"
#include "services/timing/kernel/work_item.h"

namespace eidolon::timing::kernel {

// Never fails: a kernel that no rule knows has family kUnknown and a generic count.
Demand Recognise(const KernelLaunch& launch, const KernelName& name);

// The family that the name alone tells; kUnknown when no rule knows it.
Family FamilyOf(const KernelName& name);

// Parsed names, so that a name is demangled once. Thread safe. Bounded: when full, it starts over.
class KernelNames {
 public:
  std::shared_ptr<const KernelName> Get(const std::string& mangled);

 private:
  static constexpr std::size_t kNamesMax = 65536;
  std::mutex names_mutex_;
  std::unordered_map<std::string, std::shared_ptr<const KernelName>> names_;
};

}  // namespace eidolon::timing::kernel
