// An activity record holds a pointer to its name, and the program reads it whenever it likes, so
// every name is interned and never freed. NameWork is asked for each operation that ran. A
// definition keeps its address for the life of the process, so the name is remembered by that
// address instead of being built again.
#include "shim/vendor/cupti/operation_name.h"

#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "services/base/text.h"
#include "services/contract/workload/work.h"

namespace eidolon::shim::cupti {
namespace {

// Names by ncclDataType_t, as NCCL's kernels are named.
constexpr const char* kTypes[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                  "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
// Names by ncclRedOp_t.
constexpr const char* kReductions[] = {"Sum", "Prod", "MinMax", "MinMax", "SumPostDiv"};

const char* Keep(std::string name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;  // Never destroyed: threads may outlive main.
  const std::lock_guard lock(mutex);
  return names.insert(std::move(name)).first->c_str();
}

template <typename Work>
std::string NameBehind(std::span<const std::byte> definition) {
  const auto& work = As<Work>(definition);
  return {reinterpret_cast<const char*>(&work + 1), work.name_bytes};
}

std::string Reducing(const char* what, const ring::CommunicationOp& op) {
  return base::StrCat(what, "_",
                      op.reduction < std::size(kReductions) ? kReductions[op.reduction] : "Sum",
                      "_", op.data_type < std::size(kTypes) ? kTypes[op.data_type] : "u8");
}

std::string NcclName(const ring::CommunicationOp& op) {
  switch (op.kind) {
    case ring::CommunicationKind::kAllReduce:
      return Reducing("AllReduce", op);
    case ring::CommunicationKind::kReduceScatter:
      return Reducing("ReduceScatter", op);
    case ring::CommunicationKind::kReduce:
      return Reducing("Reduce", op);
    case ring::CommunicationKind::kAllGather:
      return "AllGather";
    case ring::CommunicationKind::kBroadcast:
      return "Broadcast";
    default:
      return "SendRecv";  // NCCL makes the others of sends and receives.
  }
}

}  // namespace

namespace {

const char* MakeName(std::span<const std::byte> definition) {
  switch (As<workload::WorkHeader>(definition).kind) {
    case workload::WorkKind::kKernel:
      return Keep(NameBehind<workload::Kernel>(definition));
    case workload::WorkKind::kLibrary:
      return Keep(NameBehind<workload::Library>(definition));
    case workload::WorkKind::kGemm: {
      const auto& gemm = As<workload::Gemm>(definition);
      std::string name = base::StrCat("gemm ", gemm.m, "x", gemm.n, "x", gemm.k);
      if (gemm.batch > 1) name += base::StrCat(" x", gemm.batch);
      return Keep(std::move(name));
    }
    default:
      return "cudnn graph";
  }
}

}  // namespace

const char* NameWork(std::span<const std::byte> definition) {
  static std::mutex mutex;
  static auto& named = *new std::unordered_map<const void*, const char*>;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = named.try_emplace(definition.data());
  if (is_new) at->second = MakeName(definition);
  return at->second;
}

const char* NameCollective(const ring::CommunicationOp& op) {
  return Keep("ncclDevKernel_" + NcclName(op));
}

const char* NameOfCaptured() { return "ncclDevKernel_Captured"; }

}  // namespace eidolon::shim::cupti
