// This class ties the parts together and decides who plays an item. A library that is missing makes
// its items unsupported and nothing else; the reason is reported at the start and again with each
// item. A GPU can be named by index or UUID, since indices change with what a process may see. The
// primary context is used, which libraries that load later share.
#include "services/timing/replay/player.h"

#include <fstream>
#include <utility>

#include "services/base/hex.h"
#include "services/base/text.h"

namespace eidolon::timing::replay {

using base::ErrorCode;
using base::Result;
using base::StrCat;

namespace {

// Granularity of physical memory on every GPU so far.
constexpr std::uint64_t kGranularity = 2 << 20;

std::string UuidText(const CUuuid& uuid) {
  std::string text = base::Hex({uuid.bytes, sizeof(uuid.bytes)});
  for (const std::size_t at : {20u, 16u, 12u, 8u}) text.insert(at, "-");
  return "GPU-" + text;
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.82.07  Wed ...": the first word of digits.
std::string KernelModuleVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    if (word.find_first_not_of("0123456789.") == std::string::npos) return word;
  }
  return "";
}

}  // namespace

Player::Player(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}

Player::~Player() = default;

Result<std::unique_ptr<Player>> Player::Open(const PlayerOptions& options) {
  auto driver = Driver::Open(options.driver);
  if (!driver) return std::unexpected(driver.error());
  std::unique_ptr<Player> player(new Player(std::move(*driver)));
  if (auto started = player->Start(options); !started) return std::unexpected(started.error());
  return player;
}

Result<void> Player::Start(const PlayerOptions& options) {
  const Driver& driver = *driver_;
  if (auto ready = driver.Check(driver.cuInit(0), "starting the driver"); !ready) return ready;
  const auto device = FindDevice(options.gpu);
  if (!device) return std::unexpected(device.error());
  CUcontext context = nullptr;
  CUresult result = driver.cuDevicePrimaryCtxRetain(&context, *device);
  if (result == CUDA_SUCCESS) result = driver.cuCtxSetCurrent(context);
  if (result != CUDA_SUCCESS) return driver.Check(result, "making a context");
  if (auto read = ReadFacts(*device); !read) return read;
  const int l2 = Attribute(*device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  const std::uint64_t flush = l2 > 0 ? 2 * static_cast<std::uint64_t>(l2) : 0;
  auto watch = Stopwatch::Create(driver, flush, options.cold_cache);
  if (!watch) return std::unexpected(watch.error());
  watch_ = std::move(*watch);
  mirror_ = std::make_unique<Mirror>(driver, *device, kGranularity);
  modules_ = std::make_unique<Modules>(driver);
  OpenLibraries(options.libraries);
  return {};
}

void Player::OpenLibraries(const std::string& folder) {
  cublas_ = Cublas::Open(*driver_, folder, gpu_.compute_major);
  cublas_lt_ = CublasLt::Open(*driver_, folder, gpu_.compute_major);
  cudnn_ = Cudnn::Open(*driver_, folder);
  Note("cublas", cublas_);
  Note("cublas_lt", cublas_lt_);
  Note("cudnn", cudnn_);
}

template <typename Library>
void Player::Note(const char* name, const Result<std::unique_ptr<Library>>& library) {
  const std::string problem = library ? "" : library.error().message;
  if (!gpu_.libraries.empty()) gpu_.libraries += ", ";
  gpu_.libraries += library ? (*library)->version() : problem;
  gpu_.math_libraries.push_back({name, problem});
}

Result<CUdevice> Player::FindDevice(const std::string& wanted) const {
  int count = 0;
  if (auto known = driver_->Check(driver_->cuDeviceGetCount(&count), "counting GPUs"); !known) {
    return std::unexpected(known.error());
  }
  const auto index = base::ParseInteger(wanted);
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    CUuuid uuid{};
    if (driver_->cuDeviceGet(&device, i) != CUDA_SUCCESS) continue;
    const bool same = index ? *index == i
                            : driver_->cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS &&
                                  UuidText(uuid) == wanted;
    if (same) return device;
  }
  return base::Fail(ErrorCode::kNotFound,
                    StrCat("there is no GPU '", wanted, "'; the driver has ", count));
}

int Player::Attribute(CUdevice device, CUdevice_attribute attribute) const {
  int value = 0;
  return driver_->cuDeviceGetAttribute(&value, attribute, device) == CUDA_SUCCESS ? value : 0;
}

Result<void> Player::ReadFacts(CUdevice device) {
  char name[256] = {};
  if (auto known = driver_->Check(driver_->cuDeviceGetName(name, sizeof(name) - 1, device),
                                  "asking for the GPU's name");
      !known) {
    return known;
  }
  gpu_.name = name;
  CUuuid uuid{};
  if (driver_->cuDeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS) gpu_.uuid = UuidText(uuid);
  int version = 0;
  if (driver_->cuDriverGetVersion(&version) == CUDA_SUCCESS) {
    gpu_.cuda = StrCat(version / 1000, ".", version % 1000 / 10);
  }
  gpu_.driver = KernelModuleVersion();
  gpu_.compute_major =
      static_cast<std::uint32_t>(Attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  gpu_.compute_minor =
      static_cast<std::uint32_t>(Attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  gpu_.multiprocessors =
      static_cast<std::uint32_t>(Attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  std::size_t bytes = 0;
  if (driver_->cuDeviceTotalMem_v2(&bytes, device) == CUDA_SUCCESS) gpu_.memory_bytes = bytes;
  gpu_.clocks =
      StrCat("at most ", Attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000, " MHz, memory ",
             Attribute(device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000, " MHz");
  return {};
}

Result<Played> Player::Play(const kernel::WorkItem& item, const KernelMemory& memory) {
  if (const auto* launch = std::get_if<kernel::KernelLaunch>(&item)) {
    return PlayKernel(*launch, memory);
  }
  if (const auto* gemm = std::get_if<kernel::Gemm>(&item)) return PlayGemm(*gemm);
  if (const auto* copy = std::get_if<kernel::Copy>(&item)) return PlayCopy(*copy);
  if (const auto* graph = std::get_if<kernel::DnnGraph>(&item)) return PlayGraph(*graph);
  return base::Fail(ErrorCode::kUnsupported, "calls of this library are not replayed");
}

Result<Played> Player::PlayKernel(const kernel::KernelLaunch& launch, const KernelMemory& memory) {
  const auto module = modules_->Load(memory.module_file);
  if (!module) return std::unexpected(module.error());
  if (auto mapped = mirror_->Require(memory.allocations, watch_->stream()); !mapped) {
    return std::unexpected(mapped.error());
  }
  auto parameters = PlaceParameters(launch, memory, *mirror_);
  if (!parameters) return std::unexpected(parameters.error());
  const auto call = KernelCall::Prepare(*driver_, *module, launch, std::move(*parameters));
  if (!call) return std::unexpected(call.error());
  auto played = Time(**call);
  if (played) played->moved = mirror_->moved();
  return played;
}

template <typename Call>
Result<Played> Player::Time(Call& call) {
  const auto reading = watch_->Measure([&](CUstream stream) { return call.Enqueue(stream); });
  if (!reading) return std::unexpected(reading.error());
  return Played{*reading, false};
}

Result<Played> Player::PlayGemm(const kernel::Gemm& gemm) {
  if (NeedsLt(gemm)) {
    if (!cublas_lt_) return base::Fail(ErrorCode::kUnsupported, cublas_lt_.error().message);
    const auto call = LtCall::Prepare(**cublas_lt_, gemm, watch_->stream());
    if (!call) return std::unexpected(call.error());
    return Time(**call);
  }
  if (!cublas_) return base::Fail(ErrorCode::kUnsupported, cublas_.error().message);
  const auto call = GemmCall::Prepare(**cublas_, gemm, watch_->stream());
  if (!call) return std::unexpected(call.error());
  return Time(**call);
}

Result<Played> Player::PlayGraph(const kernel::DnnGraph& graph) {
  if (!cudnn_) return base::Fail(ErrorCode::kUnsupported, cudnn_.error().message);
  if (!graph.nodes.empty()) {
    const auto call = GraphCall::Prepare(**cudnn_, graph, watch_->stream());
    if (!call) return std::unexpected(call.error());
    return Time(**call);
  }
  const auto call = ConvolutionCall::Prepare(**cudnn_, graph, watch_->stream());
  if (!call) return std::unexpected(call.error());
  return Time(**call);
}

Result<Played> Player::PlayCopy(const kernel::Copy& copy) {
  const auto call = CopyCall::Prepare(*driver_, copy);
  if (!call) return std::unexpected(call.error());
  if (!(*call)->pageable()) return Time(**call);
  const auto reading = watch_->MeasureEagerly(
      [&](CUstream stream) { return (*call)->Enqueue(stream); }, (*call)->waits());
  if (!reading) return std::unexpected(reading.error());
  return Played{*reading, false};
}

}  // namespace eidolon::timing::replay
