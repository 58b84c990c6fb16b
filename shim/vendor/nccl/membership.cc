// Making a communicator is a meeting: the agent answers when all members have come. In a group, one
// process may have several members of one communicator, so their requests are queued and made
// together at the end, each on a thread of its own; one after the other they would wait for each
// other for ever. A meeting's name is the unique id, which is random; nothing that is predicted may
// depend on it.
//
// A split is called by every rank of the parent, so the agent derives the children. A shrink is not
// called by the ranks that are left out, so the others derive the same id from the parent's. In a
// folded job the agent needs the members' ranks of the job, which NCCL never sees: they come from
// the framework's groups. The end of a communicator is told once, whether by revoking, aborting or
// destroying.
#include "shim/vendor/nccl/membership.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "services/base/hash.h"
#include "services/base/random.h"
#include "services/contract/ring/record.h"
#include "shim/core/rank_clock.h"
#include "shim/core/session.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/device/device.h"
#include "shim/gpu/stream/submit.h"
#include "shim/pytorch/torch_groups/group_members.h"
#include "shim/vendor/nccl/buffers.h"
#include "shim/vendor/nccl/communicator.h"
#include "shim/vendor/nccl/group_state.h"
#include "shim/vendor/nccl/mirrored_rank_names.h"

namespace eidolon::shim::nccl {
namespace {

// Arguments for making one communicator; filled in by the calls, used at once or at the group's
// end.
struct Making {
  ncclComm_t* result = nullptr;
  ncclUniqueId unique_id{};
  int size = 0;
  int rank = 0;
  int device = 0;
  std::string name;
};

thread_local std::vector<Making> queued;

std::string NameOf(const ncclConfig_t* config) {
  if (config == nullptr || config->commName == nullptr) return {};
  return config->commName;
}

void CopyName(const std::string& name, char (&field)[64]) {
  std::memcpy(field, name.data(), std::min(name.size(), sizeof(field) - 1));
}

ncclResult_t ToNccl(ring::ReplyStatus status) {
  switch (status) {
    case ring::ReplyStatus::kOk:
      return ncclSuccess;
    case ring::ReplyStatus::kCollectiveError:
      return ncclInvalidUsage;
    case ring::ReplyStatus::kJobEnding:
      return ncclRemoteError;
    default:
      return ncclInternalError;
  }
}

// PyTorch may not show NCCL's last error: the agent reads the sentence from what the program
// prints.
std::unexpected<base::Error> CannotFold(const std::string& sentence) {
  std::fprintf(stderr, "eidolon: folding: %s\n", sentence.c_str());
  return base::Fail(base::ErrorCode::kUnsupported, sentence);
}

// The members' ranks of the job, where the agent needs them: in a folded job.
base::Result<std::vector<folding::RankRun>> MembersToTell(const core::Session& session,
                                                          const std::string& name, int size,
                                                          int rank) {
  const std::uint32_t world = session.header().folded_ranks;
  if (world == 0) return std::vector<folding::RankRun>();
  // Once; not behind a lock, which a thread that holds the interpreter's could wait for.
  static std::atomic<bool> looked{false};
  const char* const live = std::getenv("EIDOLON_LIVE_RANKS");
  const std::string mirrored_rank =
      live == nullptr || looked.exchange(true) ? std::string() : FindMirroredByName(live, world);
  if (!mirrored_rank.empty()) return CannotFold(mirrored_rank);
  auto members = torch_groups::MembersOf({.name = name,
                                          .size = static_cast<std::uint32_t>(size),
                                          .rank = static_cast<std::uint32_t>(rank),
                                          .world = world});
  if (!members) return CannotFold(members.error().message);
  return members;
}

// Joins the other members; returns when all have come.
ncclResult_t Make(const Making& making, std::string* sentence) {
  core::Session* session = core::Session::Get();
  if (session == nullptr) {
    *sentence = "no emulated GPU";
    return ncclUnhandledCudaError;
  }
  ring::CommunicatorInit record{};
  record.header.kind = ring::RecordKind::kCommunicatorInit;
  record.header.device = gpu::RingDevice(making.device);
  record.communicator = session->NewId();
  std::memcpy(record.unique_id, making.unique_id.internal, sizeof(record.unique_id));
  record.size = making.size;
  record.rank = making.rank;
  CopyName(making.name, record.name);
  const auto members = MembersToTell(*session, making.name, making.size, making.rank);
  if (!members) {
    *sentence = members.error().message;
    return ncclInvalidUsage;
  }
  record.member_runs = static_cast<std::uint32_t>(members->size());
  char reason[512] = {};
  const auto answer = core::Ask(*session, record, true, std::as_writable_bytes(std::span(reason)),
                                std::as_bytes(std::span(*members)));
  const ncclResult_t result = ToNccl(answer.status);
  if (result != ncclSuccess) {
    sentence->assign(reason, strnlen(reason, sizeof(reason)));
    return result;
  }
  Communicator* communicator = Communicator::Make(making.result);
  communicator->id = record.communicator;
  communicator->rank = making.rank;
  communicator->size = making.size;
  communicator->device = making.device;
  communicator->unique_id = making.unique_id;
  communicator->name = making.name;
  core::NoteCommunicator();
  return ncclSuccess;
}

ncclResult_t MakeOrQueue(const Making& making) {
  if (making.result == nullptr)
    return Fail(ncclInvalidArgument, "the communicator pointer is null");
  if (making.size < 1 || making.rank < 0 || making.rank >= making.size) {
    return Fail(ncclInvalidArgument, "rank " + std::to_string(making.rank) +
                                         " is outside of the communicator's " +
                                         std::to_string(making.size) + " ranks");
  }
  *making.result = nullptr;
  if (InGroup()) {
    queued.push_back(making);
    return ncclSuccess;
  }
  std::string sentence;
  const ncclResult_t result = Make(making, &sentence);
  return result == ncclSuccess ? result : Fail(result, sentence);
}

ncclResult_t Init(ncclComm_t* result, int size, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config) {
  if (gpu::EnsureContext() != gpu::Status::kSuccess) {
    return NoteInGroup(Fail(ncclUnhandledCudaError, "no emulated GPU"));
  }
  return NoteInGroup(MakeOrQueue({.result = result,
                                  .unique_id = id,
                                  .size = size,
                                  .rank = rank,
                                  .device = gpu::CurrentDevice(),
                                  .name = NameOf(config)}));
}

// Once: a communicator that was revoked has told already.
void TellEnd(Communicator& communicator, bool aborted) {
  const std::lock_guard lock(communicator.issuing);
  if (communicator.ended.exchange(true)) return;
  core::Session* session = core::Session::Existing();
  if (session == nullptr) return;
  ring::CommunicatorRecord record{};
  record.header.kind = ring::RecordKind::kCommunicatorDestroy;
  record.header.device = gpu::RingDevice(communicator.device);
  record.communicator = communicator.id;
  record.aborted = aborted ? 1 : 0;
  core::Append(*session, record);
}

ncclResult_t End(ncclComm_t handle, bool aborted) {
  Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr) return Fail(ncclInvalidArgument, "not a communicator");
  DropQueuedOperations(*communicator);
  TellEnd(*communicator, aborted);
  ReleaseBuffers(*communicator);
  Communicator::Destroy(handle);
  return ncclSuccess;
}

}  // namespace

ncclResult_t MakeQueuedCommunicators() {
  const std::vector<Making> all = std::exchange(queued, {});
  if (all.empty()) return ncclSuccess;
  // Each waits for all members, some of which may stand behind it in this very list.
  std::vector<std::string> sentences(all.size());
  std::vector<ncclResult_t> results(all.size(), ncclSuccess);
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < all.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = Make(all[i], &sentences[i]); });
  }
  results[0] = Make(all[0], &sentences[0]);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (results[i] != ncclSuccess) return Fail(results[i], sentences[i]);
  }
  return ncclSuccess;
}

void DropQueuedCommunicators() { queued.clear(); }

namespace communicator {

ncclResult_t GetVersion(int* version) {
  if (version == nullptr) return ncclInvalidArgument;
  const core::Session* session = core::Session::Get();
  *version =
      session == nullptr ? NCCL_VERSION_CODE : static_cast<int>(session->header().nccl_version);
  return ncclSuccess;
}

ncclResult_t GetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return ncclInvalidArgument;
  // A name, never a number that a prediction depends on: unique over processes and machines.
  std::uint64_t seed[2] = {};
  if (getrandom(seed, sizeof(seed), 0) != sizeof(seed)) {
    return Fail(ncclSystemError, "the system gave no random bytes for a unique id");
  }
  base::Random first(seed[0]);
  base::Random second(seed[1]);
  for (std::size_t offset = 0; offset < sizeof(id->internal); offset += 16) {
    const std::uint64_t words[2] = {first.Next(), second.Next()};
    std::memcpy(id->internal + offset, words, sizeof(words));
  }
  return ncclSuccess;
}

ncclResult_t InitRank(ncclComm_t* result, int size, ncclUniqueId id, int rank) {
  return Init(result, size, id, rank, nullptr);
}

ncclResult_t InitRankConfig(ncclComm_t* result, int size, ncclUniqueId id, int rank,
                            ncclConfig_t* config) {
  return Init(result, size, id, rank, config);
}

ncclResult_t InitRankScalable(ncclComm_t* result, int size, int rank, int id_count,
                              ncclUniqueId* ids, ncclConfig_t* config) {
  if (ids == nullptr || id_count < 1) return Fail(ncclInvalidArgument, "no unique id was given");
  return Init(result, size, ids[0], rank, config);
}

ncclResult_t InitAll(ncclComm_t* results, int count, const int* devices) {
  if (results == nullptr || count < 1)
    return Fail(ncclInvalidArgument, "no communicators asked for");
  if (gpu::EnsureContext() != gpu::Status::kSuccess) {
    return Fail(ncclUnhandledCudaError, "no emulated GPU");
  }
  if (count > gpu::DeviceCount()) return Fail(ncclInvalidArgument, "more ranks than GPUs");
  ncclUniqueId id;
  if (const auto status = GetUniqueId(&id); status != ncclSuccess) return status;
  for (int rank = 0; rank < count; ++rank) {
    const int device = devices == nullptr ? rank : devices[rank];
    if (device < 0 || device >= gpu::DeviceCount()) {
      return Fail(ncclInvalidArgument, "GPU " + std::to_string(device) + " does not exist");
    }
    results[rank] = nullptr;
    queued.push_back({.result = &results[rank],
                      .unique_id = id,
                      .size = count,
                      .rank = rank,
                      .device = device,
                      .name = {}});
  }
  return InGroup() ? ncclSuccess : MakeQueuedCommunicators();
}

ncclResult_t Split(ncclComm_t parent_handle, int color, int key, ncclComm_t* result,
                   ncclConfig_t* config) {
  Communicator* parent = Communicator::Find(parent_handle);
  if (const auto status = CheckUsable(parent); status != ncclSuccess) return status;
  if (result == nullptr) return Fail(ncclInvalidArgument, "the communicator pointer is null");
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return Fail(ncclInvalidArgument, "colour " + std::to_string(color) + " is negative");
  }
  *result = nullptr;
  core::Session* session = core::Session::Get();
  if (session == nullptr) return Fail(ncclUnhandledCudaError, "no emulated GPU");
  ring::CommunicatorSplit record{};
  record.header.kind = ring::RecordKind::kCommunicatorSplit;
  record.header.device = gpu::RingDevice(parent->device);
  record.parent = parent->id;
  record.communicator = session->NewId();
  record.color = color;
  record.key = key;
  const std::string name = NameOf(config);
  CopyName(name, record.name);
  std::vector<folding::RankRun> members;
  if (color >= 0) {
    auto told = MembersToTell(*session, name, 0, key);
    if (!told) return Fail(ncclInvalidUsage, told.error().message);
    members = std::move(*told);
  }
  record.member_runs = static_cast<std::uint32_t>(members.size());
  // The members' ranks in the parent, or a sentence when it fails.
  const std::size_t members_max = color < 0 ? 0 : static_cast<std::size_t>(parent->size);
  std::vector<std::byte> payload(std::max<std::size_t>(512, members_max * sizeof(std::uint32_t)));
  const auto answer = core::Ask(*session, record, true, payload, std::as_bytes(std::span(members)));
  if (const auto status = ToNccl(answer.status); status != ncclSuccess) {
    const auto* text = reinterpret_cast<const char*>(payload.data());
    SetLastError(parent, std::string(text, strnlen(text, payload.size())));
    return status;
  }
  if (color < 0) return ncclSuccess;
  Communicator* child = Communicator::Make(result);
  child->id = record.communicator;
  child->rank = static_cast<int>(answer.extra >> 32);
  child->size = static_cast<int>(answer.extra & 0xffffffffu);
  child->device = parent->device;
  child->name = name;
  return ncclSuccess;
}

ncclResult_t Shrink(ncclComm_t parent_handle, int* excluded, int excluded_count, ncclComm_t* result,
                    ncclConfig_t* config, int) {
  Communicator* parent = Communicator::Find(parent_handle);
  if (const auto status = CheckUsable(parent); status != ncclSuccess) return status;
  if (result == nullptr || excluded == nullptr || excluded_count < 1) {
    return Fail(ncclInvalidArgument, "no ranks to exclude were given");
  }
  std::vector<int> gone(excluded, excluded + excluded_count);
  std::ranges::sort(gone);
  gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
  if (gone.front() < 0 || gone.back() >= parent->size ||
      std::ranges::binary_search(gone, parent->rank)) {
    return Fail(ncclInvalidArgument, "the ranks to exclude are not other ranks of the parent");
  }
  // The excluded ranks do not call, so this is not a split: the others meet under a name that each
  // of them derives from the parent's.
  std::uint64_t seed = base::Hash64(parent->unique_id.internal, sizeof(parent->unique_id));
  seed = base::Hash64(gone.data(), gone.size() * sizeof(int), seed ^ parent->id ^ parent->derived);
  ++parent->derived;
  base::Random words(seed);
  ncclUniqueId id;
  for (std::size_t offset = 0; offset < sizeof(id.internal); offset += 8) {
    const std::uint64_t word = words.Next();
    std::memcpy(id.internal + offset, &word, sizeof(word));
  }
  const auto before = std::ranges::lower_bound(gone, parent->rank) - gone.begin();
  return MakeOrQueue({.result = result,
                      .unique_id = id,
                      .size = parent->size - static_cast<int>(gone.size()),
                      .rank = parent->rank - static_cast<int>(before),
                      .device = parent->device,
                      .name = NameOf(config)});
}

ncclResult_t Finalize(ncclComm_t handle) { return CheckUsable(Communicator::Find(handle)); }

ncclResult_t Destroy(ncclComm_t handle) { return End(handle, false); }
ncclResult_t Abort(ncclComm_t handle) { return End(handle, true); }

ncclResult_t Revoke(ncclComm_t handle, int) {
  Communicator* communicator = Communicator::Find(handle);
  if (communicator == nullptr) return Fail(ncclInvalidArgument, "not a communicator");
  TellEnd(*communicator, true);
  return ncclSuccess;
}

}  // namespace communicator
}  // namespace eidolon::shim::nccl
