#include "services/machine_code/cubin/target.h"

namespace eidolon::cubin {

std::string Name(Target target) {
  std::string name = "sm_" + std::to_string(target.architecture);
  if (target.suffix == Suffix::kFamily) name += 'f';
  if (target.suffix == Suffix::kSpecific) name += 'a';
  return name;
}

bool CubinRuns(Target target, Capability device) {
  if (target.suffix == Suffix::kSpecific) return target.architecture == device.number();
  return target.architecture / 10 == device.major && target.architecture % 10 <= device.minor;
}

bool PtxRuns(Target target, Capability device) {
  if (target.suffix != Suffix::kNone) return CubinRuns(target, device);
  return target.architecture <= device.number();
}

}  // namespace eidolon::cubin
