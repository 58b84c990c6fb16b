// Any bytes as a request to the worker: refused, or placed on the mirror with every pointer inside
// of mapped memory; calls of libraries and copies: refused, or played with operands that hold what
// they say. The driver and the libraries are the tests' own.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "eidolon/timing/v1/replay.pb.h"
#include "services/base/check.h"
#include "services/contract/workload/copy_kind.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/replay/kernel_replay.h"
#include "services/timing/replay/player.h"

namespace {

namespace timing = eidolon::timing;
namespace replay = eidolon::timing::replay;

const replay::Driver& TheDriver() {
  static const auto driver = [] {
    auto opened = replay::Driver::Open(EIDOLON_FAKE_DRIVER_LIBRARY);
    CHECK(opened.has_value());
    CUcontext context = nullptr;
    CHECK((*opened)->cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
    CHECK((*opened)->cuCtxSetCurrent(context) == CUDA_SUCCESS);
    return std::move(*opened);
  }();
  return *driver;
}

// Everything but kernels, which need a module's code.
void Play(const timing::kernel::WorkItem& item) {
  static const auto player = [] {
    auto opened = replay::Player::Open(
        {.driver = EIDOLON_FAKE_DRIVER_LIBRARY, .libraries = EIDOLON_FAKE_LIBRARIES});
    CHECK(opened.has_value());
    return std::move(*opened);
  }();
  const auto* copy = std::get_if<timing::kernel::Copy>(&item);
  if (copy != nullptr && copy->bytes > (8 << 20) &&
      copy->kind != eidolon::workload::CopyKind::kMemset) {
    return;  // Of the host's memory, which is real.
  }
  const auto played = player->Play(item, {});
  CHECK(played ? played->reading.median_ps > 0 : !played.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  timing::v1::ReplayRequest request;
  if (!request.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto item = timing::kernel::ReadWork(std::as_bytes(std::span(request.definition())));
  if (!item) return 0;
  const auto* launch = std::get_if<timing::kernel::KernelLaunch>(&*item);
  if (launch == nullptr) {
    Play(*item);
    return 0;
  }
  replay::KernelMemory memory{request.replay().parameters(), {}, request.module_file()};
  for (const timing::v1::Range& range : request.replay().allocations()) {
    memory.allocations.push_back({range.begin(), range.size_bytes()});
  }
  replay::Mirror mirror(TheDriver(), 0, 2 << 20);
  const auto mapped = mirror.Require(memory.allocations, nullptr);
  if (!mapped) {
    CHECK(!mapped.error().message.empty());
    return 0;
  }
  const auto placed = replay::PlaceParameters(*launch, memory, mirror);
  if (!placed) {
    CHECK(!placed.error().message.empty());
    return 0;
  }
  CHECK(placed->size() == launch->parameters.size());
  return 0;
}
