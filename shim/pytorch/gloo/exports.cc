// Functions of libtorch_cpu.so that stand before PyTorch's own in the live ranks of folded jobs
// (lib/eidolon/folded/gloo.so is preloaded there, nowhere else). Groups in which every member is
// live get PyTorch's own; those with mirrored ranks get what stands in collectives.h.
//
// A group's members are known while it is made, on a thread whose Python frames say who they are.
// Pairs are connected when they are first used (TORCH_GLOO_LAZY_INIT, from PyTorch 2.8 on), which
// with a mirrored rank never happens. Messages to a mirrored rank have arrived at once. What a
// mirrored rank would send nobody knows, except in monitored_barrier, where only that it comes
// counts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "shim/pytorch/gloo/call_line.h"
#include "shim/pytorch/gloo/collectives.h"
#include "shim/pytorch/gloo/group.h"
#include "shim/pytorch/gloo/job_fold.h"
#include "shim/pytorch/gloo/options.h"
#include "shim/pytorch/gloo/pytorch.h"
#include "shim/pytorch/torch_groups/group_members.h"

// Named as PyTorch's compiler names them: these are functions of its classes.
#define EIDOLON_GLOO(name) asm(name) __attribute__((visibility("default")))

namespace eidolon::shim::gloo {
namespace {

using base::StrCat;

constexpr char kConnect[] =
    "_ZN4gloo10rendezvous7Context15connectFullMeshESt10shared_ptrINS0_5StoreEERS2_INS_"
    "9transport6DeviceEE";
constexpr char kConnectPairs[] =
    "_ZN4gloo9transport3tcp7Context24createAndConnectAllPairsESt10shared_ptrINS_6IStoreEE";
constexpr char kReceiveAny[] = "_ZN4gloo9transport3tcp13UnboundBuffer4recvESt6vectorIiSaIiEEmmm";
constexpr char kMonitoredBarrier[] =
    "_ZN4c10d16ProcessGroupGloo16monitoredBarrierERKNS_14BarrierOptionsEb";
constexpr char kClose[] = "_ZN4gloo7Context16closeConnectionsEv";

using ConnectFunction = void (*)(void* context, void* store, void* device);
using ConnectPairsFunction = void (*)(void* transport, void* store);
using ReceiveAnyFunction = void (*)(Buffer*, std::vector<std::int32_t>*, std::uint64_t slot,
                                    std::size_t offset, std::size_t bytes);
using MonitoredBarrierFunction = void (*)(void* group, const void* options, bool wait_all);

// The group that this thread is making.
thread_local std::shared_ptr<const Group> made;
thread_local int monitored_barriers = 0;

// gloo::rendezvous::Context has virtual functions, gloo::Context, which it derives from, none.
Context* ContextIn(void* rendezvous) {
  return reinterpret_cast<Context*>(static_cast<char*>(rendezvous) + sizeof(void*));
}

std::shared_ptr<const Group> MakeGroup(const Context& context) {
  const folding::Fold& fold = JobFold();
  if (!fold.is_folded()) return nullptr;
  auto group = std::make_shared<const Group>(
      fold,
      torch_groups::MembersOf({.name = {},
                               .size = static_cast<std::uint32_t>(context.size),
                               .rank = static_cast<std::uint32_t>(context.rank),
                               .world = fold.ranks()}),
      TorchRuns("_create_process_group_wrapper"));
  return group->has_mirrored_ranks() ? group : nullptr;
}

// Otherwise making it would wait for addresses of mirrored ranks.
void ExpectToConnectLater() {
  const char* const lazy = std::getenv("TORCH_GLOO_LAZY_INIT");
  if (lazy != nullptr && std::strcmp(lazy, "0") != 0) return;
  EndJob(
      "the program sets TORCH_GLOO_LAZY_INIT, so that a Gloo group connects all its members when "
      "it is made, and mirrored ranks have no Gloo; leave that variable alone");
}

// Returns the group of the context which a buffer was made for:
// gloo::transport::tcp::UnboundBuffer's first member.
std::shared_ptr<const Group> GroupOf(const Buffer* buffer) {
  const void* transport = nullptr;
  std::memcpy(&transport, buffer + 1, sizeof(transport));
  return FindGroup(transport);
}

class InMonitoredBarrier {
 public:
  InMonitoredBarrier() { ++monitored_barriers; }
  ~InMonitoredBarrier() { --monitored_barriers; }
  InMonitoredBarrier(const InMonitoredBarrier&) = delete;
  InMonitoredBarrier& operator=(const InMonitoredBarrier&) = delete;
};

class Making {
 public:
  explicit Making(std::shared_ptr<const Group> group) { made = std::move(group); }
  ~Making() { made = nullptr; }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
};

[[noreturn]] void RefuseToReceive(const Group& group, std::int32_t rank) {
  const std::uint32_t global = group.GlobalOf(rank);
  EndJob(StrCat("a rank receives from rank ", global,
                " over Gloo, which is mirrored, so that nobody knows what it sends; make it live "
                "(--live ",
                global, ")"));
}

// Ours where the group has mirrored ranks, PyTorch's own elsewhere.
template <typename Options>
void Answer(const Options& options, const char* name,
            void (*ours)(const GroupPointer&, const Options&)) {
  if (const auto group = FindGroup(options.context.get())) return ours(group, options);
  Own<void (*)(const Options&)>(name)(options);
}

}  // namespace

void Connect(void* rendezvous, void* store, void* device) EIDOLON_GLOO(
    "_ZN4gloo10rendezvous7Context15connectFullMeshESt10shared_ptrINS0_5StoreEERS2_INS_"
    "9transport6DeviceEE");
void Connect(void* rendezvous, void* store, void* device) {
  Context* const context = ContextIn(rendezvous);
  auto group = MakeGroup(*context);
  KeepGroup(context, group);
  if (group != nullptr) ExpectToConnectLater();
  const Making making(std::move(group));
  Own<ConnectFunction>(kConnect)(rendezvous, store, device);
}

void ConnectPairs(void* transport, void* store) EIDOLON_GLOO(
    "_ZN4gloo9transport3tcp7Context24createAndConnectAllPairsESt10shared_ptrINS_"
    "6IStoreEE");
void ConnectPairs(void* transport, void* store) {
  KeepGroup(transport, made);
  Own<ConnectPairsFunction>(kConnectPairs)(transport, store);
}

void Send(Buffer* buffer, std::int32_t rank, std::uint64_t slot, std::size_t offset,
          std::size_t bytes) EIDOLON_GLOO("_ZN4gloo9transport3tcp13UnboundBuffer4sendEimmm");
void Send(Buffer* buffer, std::int32_t rank, std::uint64_t slot, std::size_t offset,
          std::size_t bytes) {
  const auto group = GroupOf(buffer);
  if (group != nullptr && group->twins().IsMirrored(rank)) {
    return Own<CompleteFunction>(kCompleteSend)(buffer, rank);
  }
  Own<SendFunction>(kSend)(buffer, rank, slot, offset, bytes);
}

void Receive(Buffer* buffer, std::int32_t rank, std::uint64_t slot, std::size_t offset,
             std::size_t bytes) EIDOLON_GLOO("_ZN4gloo9transport3tcp13UnboundBuffer4recvEimmm");
void Receive(Buffer* buffer, std::int32_t rank, std::uint64_t slot, std::size_t offset,
             std::size_t bytes) {
  const auto group = GroupOf(buffer);
  if (group != nullptr && group->twins().IsMirrored(rank)) {
    if (monitored_barriers == 0) RefuseToReceive(*group, rank);
    return Own<CompleteFunction>(kCompleteReceive)(buffer, rank);
  }
  Own<ReceiveFunction>(kReceive)(buffer, rank, slot, offset, bytes);
}

void ReceiveAny(Buffer* buffer, std::vector<std::int32_t>* ranks, std::uint64_t slot,
                std::size_t offset, std::size_t bytes)
    EIDOLON_GLOO("_ZN4gloo9transport3tcp13UnboundBuffer4recvESt6vectorIiSaIiEEmmm");
void ReceiveAny(Buffer* buffer, std::vector<std::int32_t>* ranks, std::uint64_t slot,
                std::size_t offset, std::size_t bytes) {
  if (const auto group = GroupOf(buffer)) {
    const std::int32_t first = ranks->empty() ? 0 : ranks->front();
    std::erase_if(*ranks, [&](std::int32_t rank) { return group->twins().IsMirrored(rank); });
    if (ranks->empty()) RefuseToReceive(*group, first);
  }
  Own<ReceiveAnyFunction>(kReceiveAny)(buffer, ranks, slot, offset, bytes);
}

void MonitoredBarrier(void* process_group, const void* options, bool wait_all)
    EIDOLON_GLOO("_ZN4c10d16ProcessGroupGloo16monitoredBarrierERKNS_14BarrierOptionsEb");
void MonitoredBarrier(void* process_group, const void* options, bool wait_all) {
  const InMonitoredBarrier scope;
  Own<MonitoredBarrierFunction>(kMonitoredBarrier)(process_group, options, wait_all);
}

// The program's thread asks for the context of each call before it is put into a queue.
std::shared_ptr<Context> ContextOfCall(void* process_group, std::uint32_t tag)
    EIDOLON_GLOO("_ZN4c10d16ProcessGroupGloo10getContextEj");
std::shared_ptr<Context> ContextOfCall(void* process_group, std::uint32_t tag) {
  auto context = Own<std::shared_ptr<Context> (*)(void*, std::uint32_t)>(
      "_ZN4c10d16ProcessGroupGloo10getContextEj")(process_group, tag);
  const auto group = FindGroup(context.get());
  if (group != nullptr && !group->is_pytorchs()) KeepCallLine(context.get(), tag);
  return context;
}

// A store that the program serves itself, as the processes of asynchronous checkpoints do, waits
// for a client of every rank. Mirrored ranks never come, and who asks for a value waits for it
// anyhow.
void AwaitClients(void* store) EIDOLON_GLOO("_ZN4c10d8TCPStore14waitForWorkersEv");
void AwaitClients(void* store) {
  if (JobFold().is_folded()) return;
  Own<void (*)(void*)>("_ZN4c10d8TCPStore14waitForWorkersEv")(store);
}

// Closing a pair would connect it first.
void Close(Context* context) EIDOLON_GLOO("_ZN4gloo7Context16closeConnectionsEv");
void Close(Context* context) {
  const auto group = FindGroup(context);
  if (group == nullptr) return Own<void (*)(Context*)>(kClose)(context);
  using GetPairFunction = void** (*)(Context*, std::int32_t);
  using ClosePairFunction = void (*)(void*);
  const auto pair_of = Own<GetPairFunction>("_ZN4gloo7Context7getPairEi");
  const auto close = Own<ClosePairFunction>("_ZN4gloo9transport3tcp4Pair5closeEv");
  for (const std::int32_t rank : group->twins().live()) {
    if (void* const pair = *pair_of(context, rank); pair != nullptr) close(pair);
  }
}

#define EIDOLON_COLLECTIVE(function, ours, name)                  \
  void function(const ours##Options& options) EIDOLON_GLOO(name); \
  void function(const ours##Options& options) { Answer(options, name, &ours); }

EIDOLON_COLLECTIVE(OwnAllGather, AllGather, "_ZN4gloo9allgatherERNS_16AllgatherOptionsE")
EIDOLON_COLLECTIVE(OwnAllGatherv, AllGatherv, "_ZN4gloo10allgathervERNS_17AllgathervOptionsE")
EIDOLON_COLLECTIVE(OwnAllReduce, AllReduce, "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")
EIDOLON_COLLECTIVE(OwnAllToAll, AllToAll, "_ZN4gloo8alltoallERNS_15AlltoallOptionsE")
EIDOLON_COLLECTIVE(OwnAllToAllv, AllToAllv, "_ZN4gloo9alltoallvERNS_16AlltoallvOptionsE")
EIDOLON_COLLECTIVE(OwnBarrier, Barrier, "_ZN4gloo7barrierERNS_14BarrierOptionsE")
EIDOLON_COLLECTIVE(OwnBroadcast, Broadcast, "_ZN4gloo9broadcastERNS_16BroadcastOptionsE")
EIDOLON_COLLECTIVE(OwnGather, Gather, "_ZN4gloo6gatherERNS_13GatherOptionsE")
EIDOLON_COLLECTIVE(OwnReduce, Reduce, "_ZN4gloo6reduceERNS_13ReduceOptionsE")
EIDOLON_COLLECTIVE(OwnScatter, Scatter, "_ZN4gloo7scatterERNS_14ScatterOptionsE")

}  // namespace eidolon::shim::gloo
