// eidolon-timing-worker: owns one GPU and measures what the timing service asks. Started by the
// service; a kernel that faults ends this process and nothing else.
#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "eidolon/timing/v1/replay.pb.h"
#include "services/base/log.h"
#include "services/base/text.h"
#include "services/contract/workload/definition.h"
#include "services/timing/kernel/work_item.h"
#include "services/timing/measure/channel.h"
#include "services/timing/replay/player.h"

namespace {

using namespace eidolon;
using timing::measure::Channel;
using timing::replay::Player;

timing::v1::WorkerHello HelloOf(const base::Result<std::unique_ptr<Player>>& player) {
  timing::v1::WorkerHello hello;
  if (!player) {
    hello.set_problem(player.error().message);
    return hello;
  }
  const timing::replay::GpuFacts& gpu = (*player)->gpu();
  hello.set_gpu_name(gpu.name);
  hello.set_gpu_uuid(gpu.uuid);
  hello.set_cuda_version(gpu.cuda);
  hello.set_driver_version(gpu.driver);
  hello.set_compute_major(gpu.compute_major);
  hello.set_compute_minor(gpu.compute_minor);
  hello.set_multiprocessors(gpu.multiprocessors);
  hello.set_memory_bytes(gpu.memory_bytes);
  hello.set_clocks(gpu.clocks);
  hello.set_libraries(gpu.libraries);
  for (const timing::replay::MathLibrary& library : gpu.math_libraries) {
    timing::v1::WorkerLibrary& entry = *hello.add_math_libraries();
    entry.set_name(library.name);
    entry.set_problem(library.problem);
  }
  return hello;
}

base::Result<timing::replay::Played> Play(Player& player,
                                          const timing::v1::ReplayRequest& request) {
  if (auto known = workload::CheckVersion(request.layout_version()); !known) {
    return std::unexpected(known.error());
  }
  const auto item = timing::kernel::ReadWork(std::as_bytes(std::span(request.definition())));
  if (!item) return std::unexpected(item.error());
  timing::replay::KernelMemory memory;
  memory.parameters = request.replay().parameters();
  memory.module_file = request.module_file();
  for (const timing::v1::Range& range : request.replay().allocations()) {
    memory.allocations.push_back({range.begin(), range.size_bytes()});
  }
  return player.Play(*item, memory);
}

timing::v1::ReplayResult ResultOf(std::uint64_t number,
                                  const base::Result<timing::replay::Played>& played) {
  timing::v1::ReplayResult result;
  result.set_number(number);
  if (!played) {
    result.set_refusal(played.error().message);
    result.set_lost(played.error().code == base::ErrorCode::kUnavailable);
    result.set_unsupported(played.error().code == base::ErrorCode::kUnsupported);
    return result;
  }
  result.set_median_picoseconds(played->reading.median_ps);
  result.set_spread(played->reading.spread);
  result.set_repetitions(played->reading.repetitions);
  result.set_moved(played->moved);
  return result;
}

// Until the service closes the channel, or the GPU is lost.
int Serve(Channel& channel, Player& player) {
  while (true) {
    const auto message = channel.Receive(-1);
    if (!message) return 0;
    timing::v1::ReplayBatch batch;
    if (!batch.ParseFromString(*message)) return 2;
    for (const timing::v1::ReplayRequest& request : batch.requests()) {
      const auto result = ResultOf(request.number(), Play(player, request));
      if (!channel.Send(result.SerializeAsString())) return 0;
      if (result.lost()) return 3;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures kernels on a real GPU for eidolon-timing, which starts it.");
  timing::replay::PlayerOptions options;
  std::string path;
  bool warm = false;
  app.add_option("--channel", path, "socket of the service")->required();
  app.add_option("--gpu", options.gpu, "index or UUID of the GPU")->capture_default_str();
  app.add_option("--driver", options.driver, "CUDA driver library")->capture_default_str();
  app.add_option("--libraries", options.libraries, "folder of libcublas, libcublasLt and libcudnn");
  app.add_flag("--warm-cache", warm, "do not flush the L2 cache between repetitions");
  CLI11_PARSE(app, argc, argv);
  options.cold_cache = !warm;
  auto channel = Channel::Connect(path);
  if (!channel) {
    base::Log(base::Level::kError, "worker_failed", {{"reason", channel.error().message}});
    return 1;
  }
  const auto player = Player::Open(options);
  if (!channel->Send(HelloOf(player).SerializeAsString()) || !player) return 1;
  return Serve(*channel, **player);
}
