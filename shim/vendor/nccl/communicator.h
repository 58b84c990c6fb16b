// NCCL communicators: what a ncclComm_t points to, and what programs ask of one. How they are made,
// split and ended is in membership.h.
#pragma once

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "shim/vendor/library/opaque.h"

namespace eidolon::shim::nccl {

// Owned by the program. Collectives on one communicator come from one thread at a time, as NCCL
// demands; a watchdog thread may read the error and abort meanwhile.
struct Communicator : library::Opaque<Communicator> {
  static constexpr std::uint64_t kMagic = 0x4e43434c636f6d31u;

  std::uint32_t id = 0;  // In the ring.
  int rank = 0;
  int size = 1;
  int device = 0;
  ncclUniqueId unique_id{};
  std::string name;
  std::atomic<ncclResult_t> error{ncclSuccess};
  std::atomic<bool> ended{false};  // Aborted or revoked: takes no more work.

  // Held while work is handed over, and while the end is told: nothing may follow the end.
  std::mutex issuing;

  std::mutex mutex;  // Guards what follows.
  std::uint64_t next_collective = 0;
  std::map<int, std::uint64_t> next_send, next_receive;  // By peer.
  int next_custom_reduction = ncclNumOps;
  std::map<int, ncclDataType_t> custom_reductions;  // With the type of their scalars.
  std::uint32_t derived = 0;                        // Communicators shrunk from this one.
  std::uint64_t booked_bytes = 0;
  bool collective_booked = false;
  std::set<int> peers_booked;
  std::string last_error;
};

// NCCL's answer when the handle is none, or the communicator has ended; else ncclSuccess.
ncclResult_t CheckUsable(const Communicator* communicator);

// Records why a call on the communicator failed (nullptr: of no communicator), for
// ncclGetLastError.
void SetLastError(Communicator* communicator, std::string sentence);
// The same for a call of no communicator; gives the result back.
ncclResult_t Fail(ncclResult_t result, std::string sentence);

namespace communicator {

ncclResult_t GetAsyncError(ncclComm_t handle, ncclResult_t* error);
ncclResult_t Count(const ncclComm_t handle, int* count);
ncclResult_t UserRank(const ncclComm_t handle, int* rank);
ncclResult_t CuDevice(const ncclComm_t handle, int* device);
ncclResult_t MemStats(ncclComm_t handle, ncclCommMemStat_t stat, std::uint64_t* value);
const char* GetErrorString(ncclResult_t result);
const char* GetLastError(ncclComm_t handle);

}  // namespace communicator

}  // namespace eidolon::shim::nccl
