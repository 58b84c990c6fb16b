#include "shim/nccl/group_state.h"

#include <utility>

namespace eidolon::shim::nccl {
namespace {

struct State {
  int depth = 0;
  ncclResult_t failure = ncclSuccess;  // The first.
};

thread_local State current;

}  // namespace

bool InGroup() { return current.depth > 0; }

ncclResult_t NoteInGroup(ncclResult_t result) {
  if (InGroup() && current.failure == ncclSuccess) current.failure = result;
  return result;
}

void EnterGroup() { ++current.depth; }

void LeaveGroup() { --current.depth; }

ncclResult_t TakeGroupFailure() { return std::exchange(current.failure, ncclSuccess); }

}  // namespace eidolon::shim::nccl
