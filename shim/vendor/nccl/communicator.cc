// NCCL has two kinds of failure: a code that the call returns, and an asynchronous error that a
// watchdog thread polls. Sentences are kept twice, by communicator and by thread, because some
// calls fail before there is a communicator or after it is gone. PyTorch prints the sentence from
// any thread, so it is copied under the communicator's lock into the asking thread's own string.
// The error and the end of a communicator are atomics, for the watchdog reads them without waiting.
#include "shim/vendor/nccl/communicator.h"

#include <utility>

namespace eidolon::shim::nccl {
namespace {

// Last error of calls that failed without a communicator, or whose communicator is gone.
thread_local std::string last_error_of_thread;

}  // namespace

ncclResult_t Fail(ncclResult_t result, std::string sentence) {
  SetLastError(nullptr, std::move(sentence));
  return result;
}

ncclResult_t CheckUsable(const Communicator* communicator) {
  if (communicator == nullptr) return Fail(ncclInvalidArgument, "not a communicator");
  if (communicator->ended.load()) {
    return Fail(ncclInvalidUsage, "the communicator was aborted or revoked");
  }
  return ncclSuccess;
}

void SetLastError(Communicator* communicator, std::string sentence) {
  last_error_of_thread = sentence;
  if (communicator == nullptr) return;
  const std::lock_guard lock(communicator->mutex);
  communicator->last_error = std::move(sentence);
}

namespace communicator {

ncclResult_t GetAsyncError(ncclComm_t handle, ncclResult_t* error) {
  const Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr || error == nullptr) return ncclInvalidArgument;
  *error = communicator->error.load();
  return ncclSuccess;
}

ncclResult_t Count(const ncclComm_t handle, int* count) {
  const Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr || count == nullptr) return ncclInvalidArgument;
  *count = communicator->size;
  return ncclSuccess;
}

ncclResult_t UserRank(const ncclComm_t handle, int* rank) {
  const Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr || rank == nullptr) return ncclInvalidArgument;
  *rank = communicator->rank;
  return ncclSuccess;
}

ncclResult_t CuDevice(const ncclComm_t handle, int* device) {
  const Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr || device == nullptr) return ncclInvalidArgument;
  *device = communicator->device;
  return ncclSuccess;
}

ncclResult_t MemStats(ncclComm_t handle, ncclCommMemStat_t stat, std::uint64_t* value) {
  Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr || value == nullptr) return ncclInvalidArgument;
  const std::lock_guard lock(communicator->mutex);
  // Nothing can be suspended: all that is booked persists.
  const bool bytes = stat == ncclStatGpuMemPersist || stat == ncclStatGpuMemTotal;
  *value = bytes ? communicator->booked_bytes : 0;
  return ncclSuccess;
}

const char* GetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "NCCL operation timed out";
    default:
      return "unknown result code";
  }
}

const char* GetLastError(ncclComm_t handle) {
  thread_local std::string copy;  // Lives until this thread asks again.
  Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr) {
    copy = last_error_of_thread;
  } else {
    const std::lock_guard lock(communicator->mutex);
    copy = communicator->last_error;
  }
  return copy.c_str();
}

}  // namespace communicator
}  // namespace eidolon::shim::nccl
