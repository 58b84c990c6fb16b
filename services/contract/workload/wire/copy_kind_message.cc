#include "services/contract/workload/wire/copy_kind_message.h"

namespace eidolon::workload::wire {

namespace v1 = timing::v1;

CopyKind FromMessage(v1::CopyKind kind) {
  switch (kind) {
    case v1::COPY_KIND_HOST_TO_DEVICE:
      return CopyKind::kHostToDevice;
    case v1::COPY_KIND_DEVICE_TO_HOST:
      return CopyKind::kDeviceToHost;
    case v1::COPY_KIND_DEVICE_TO_DEVICE:
      return CopyKind::kDeviceToDevice;
    case v1::COPY_KIND_PEER:
      return CopyKind::kPeer;
    case v1::COPY_KIND_HOST_TO_HOST:
      return CopyKind::kHostToHost;
    case v1::COPY_KIND_MEMSET:
      return CopyKind::kMemset;
    default:
      return CopyKind::kUnspecified;
  }
}

v1::CopyKind ToMessage(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return v1::COPY_KIND_HOST_TO_DEVICE;
    case CopyKind::kDeviceToHost:
      return v1::COPY_KIND_DEVICE_TO_HOST;
    case CopyKind::kDeviceToDevice:
      return v1::COPY_KIND_DEVICE_TO_DEVICE;
    case CopyKind::kPeer:
      return v1::COPY_KIND_PEER;
    case CopyKind::kHostToHost:
      return v1::COPY_KIND_HOST_TO_HOST;
    case CopyKind::kMemset:
      return v1::COPY_KIND_MEMSET;
    case CopyKind::kUnspecified:
      break;
  }
  return v1::COPY_KIND_UNSPECIFIED;
}

}  // namespace eidolon::workload::wire
