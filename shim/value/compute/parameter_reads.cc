#include "shim/value/compute/parameter_reads.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "services/base/text.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/sass/dialect.h"

namespace eidolon::shim::compute {
namespace {

struct Unpacked {
  const void* start = nullptr;
  std::vector<std::byte> bytes;
  cubin::Code code;  // Empty when the image holds none for the GPU.
  cubin::Program program;
};

std::optional<std::vector<std::byte>> CubinOf(const void* start, cubin::Capability capability) {
  const auto found = cubin::FindImage(start);
  if (!found || found->kind == cubin::ImageKind::kPtx) return std::nullopt;
  if (found->kind == cubin::ImageKind::kCubin) {
    return std::vector<std::byte>(found->bytes.begin(), found->bytes.end());
  }
  const auto binary = cubin::FatBinary::Parse(found->bytes);
  if (!binary) return std::nullopt;
  const cubin::FatEntry* entry = binary->Choose(capability);
  if (entry == nullptr || entry->is_ptx) return std::nullopt;
  auto unpacked = cubin::Unpack(*entry);
  if (!unpacked) return std::nullopt;
  return std::move(*unpacked);
}

std::unique_ptr<const Unpacked> Open(const void* start, cubin::Capability capability) {
  auto image = std::make_unique<Unpacked>();
  image->start = start;
  auto bytes = CubinOf(start, capability);
  if (!bytes) return image;
  image->bytes = std::move(*bytes);
  auto code = cubin::ParseCubin(image->bytes);
  if (!code || !sass::DialectOf(code->target.architecture)) return image;
  auto program = cubin::ParseProgram(image->bytes);
  if (!program) return image;
  image->code = std::move(*code);
  image->program = std::move(*program);
  return image;
}

// The images asked for last, latest first: kernels of one container are first used together.
std::shared_ptr<const Unpacked> Keep(const void* start, cubin::Capability capability) {
  constexpr std::size_t kMostReads = 4;
  static std::mutex mutex;
  static auto* const images = new std::deque<std::shared_ptr<const Unpacked>>;
  const std::lock_guard guard(mutex);
  for (const auto& image : *images) {
    if (image->start == start) return image;
  }
  images->emplace_front(Open(start, capability));
  if (images->size() > kMostReads) images->pop_back();
  return images->front();
}

}  // namespace

std::optional<std::vector<interpret::ParameterRead>> FindParameterReads(
    const void* image, std::string_view name, cubin::Capability capability) {
  const auto unpacked = Keep(image, capability);
  const auto& functions = unpacked->code.functions;
  const auto function = std::ranges::find(functions, name, &cubin::Function::name);
  const auto text = unpacked->program.FindSection(base::StrCat(".text.", name));
  if (function == functions.end() || !text) return std::nullopt;
  interpret::Program program;
  program.parameter_base = function->parameter_base;
  program.dialect = *sass::DialectOf(unpacked->code.target.architecture);
  const auto& section = unpacked->program.sections[*text];
  if (!interpret::Translate(section.content, program)) return std::nullopt;
  return interpret::ParameterReads(program);
}

}  // namespace eidolon::shim::compute
