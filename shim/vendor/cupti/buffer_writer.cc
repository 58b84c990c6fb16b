#include "shim/vendor/cupti/buffer_writer.h"

namespace eidolon::shim::cupti {

std::size_t RecordBytes(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel11);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
      return sizeof(CUpti_ActivityExternalCorrelation);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
      return sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_STREAM:
      return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_CONTEXT:
      return sizeof(CUpti_ActivityContext4);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return sizeof(CUpti_ActivityDevice6);
    case CUPTI_ACTIVITY_KIND_NAME:
      return sizeof(CUpti_ActivityName);
    case CUPTI_ACTIVITY_KIND_MARKER:
      return sizeof(CUpti_ActivityMarker2);
    case CUPTI_ACTIVITY_KIND_MARKER_DATA:
      return sizeof(CUpti_ActivityMarkerData2);
    default:
      return 0;
  }
}

bool BufferWriter::Fits(const RecordGroup& group) const {
  return buffer_ != nullptr && group.bytes().size() <= size_ - used_ &&
         (records_max_ == 0 || records_ + group.count() <= records_max_);
}

void BufferWriter::Prepare() {
  if (buffer_ == nullptr && request_ != nullptr) request_(&buffer_, &size_, &records_max_);
}

bool BufferWriter::Put(const RecordGroup& group) {
  if (!Fits(group)) {
    Complete();
    Prepare();
    if (!Fits(group)) return false;
  }
  std::memcpy(buffer_ + used_, group.bytes().data(), group.bytes().size());
  used_ += group.bytes().size();
  records_ += group.count();
  return true;
}

void BufferWriter::Complete() {
  if (buffer_ != nullptr && complete_ != nullptr) complete_(nullptr, 0, buffer_, size_, used_);
  buffer_ = nullptr;
  size_ = used_ = records_ = records_max_ = 0;
}

}  // namespace eidolon::shim::cupti
