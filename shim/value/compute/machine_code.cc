// Machine code names variables by relocations, which a driver resolves when it loads a module. Here
// each section of variables gets an address in a range of its own (kModuleBegin), once per image
// and for the life of the process, although only the latest images are kept unpacked: kernels that
// were translated before hold these addresses. A variable whose address the program has asked for
// lies in the program's memory instead, so kernels that are launched later need a translation of
// their own, which is why `shown` is part of the key. Files may claim any size and any offset: each
// is checked against the bytes that are there before it is used.
#include "shim/value/compute/machine_code.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "services/base/text.h"
#include "services/machine_code/cubin/attributes.h"
#include "services/machine_code/cubin/cubin.h"
#include "services/machine_code/cubin/fat_binary.h"
#include "services/machine_code/cubin/image.h"
#include "services/machine_code/cubin/program.h"
#include "services/machine_code/interpret/outline.h"
#include "shim/value/pending.h"

namespace eidolon::shim::compute {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr std::uint64_t kSectionGap =
    4096;  // Behind each section, and what sections are aligned to.
// Unpacked images that are kept: kernels of one container are used together.
constexpr std::size_t kMostImages = 8;

struct Image {
  const void* start = nullptr;
  std::vector<std::byte> unpacked;
  base::Digest content;  // Of what was unpacked.
  cubin::Code code;
  cubin::Program program;
};

bool IsVariable(const cubin::ProgramSection& section) {
  return section.name.starts_with(".nv.global");
}

constexpr std::string_view kConstantVariables = ".nv.constant3";

class Cache {
 public:
  const MachineCode& Find(const void* start, std::string_view name, cubin::Capability device,
                          value::Store& store, const ShownVariables* shown) {
    const std::lock_guard guard(mutex_);
    const std::tuple key(start, std::string(name), shown);
    if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second;
    MachineCode& code = kernels_[key];
    auto image = Load(start, device, store);
    if (!image) {
      code.refusal = image.error().message;
      return code;
    }
    Describe(**image, name, Find(**image, shown), code);
    return code;
  }

  void Show(const void* start, cubin::Capability device, const ShownVariable& variable,
            value::Store& store) {
    const std::lock_guard guard(mutex_);
    const auto image = Load(start, device, store);
    if (!image) return;
    const ShownVariables shown{variable};
    for (const Moved& moved : Find(**image, &shown)) {
      const cubin::ProgramSection& section = (*image)->program.sections[moved.section];
      if (IsVariable(section)) {
        store.Copy(moved.to, AddressOf(**image, moved.section) + moved.begin, moved.bytes);
      } else if (section.name == kConstantVariables && Holds(section, moved)) {
        store.Write(moved.to, section.content.data() + moved.begin, moved.bytes);
      }
    }
  }

  // Reads a cubin that is not kept.
  base::Result<MachineCode> Read(cubin::Bytes cubin, std::string_view name, value::Store& store) {
    const std::lock_guard guard(mutex_);
    Image image;
    image.start = cubin.data();
    image.unpacked.assign(cubin.begin(), cubin.end());
    if (auto opened = Open(image, store); !opened) {
      return std::unexpected(std::move(opened.error()));
    }
    MachineCode code;
    Describe(image, name, {}, code);
    return code;
  }

 private:
  // A shown variable by its place in the image.
  struct Moved {
    std::uint32_t section;
    std::uint64_t begin;
    std::uint64_t bytes;
    std::uint64_t to;
  };

  static bool Holds(const cubin::ProgramSection& section, const Moved& moved) {
    return moved.begin <= section.content.size() &&
           moved.bytes <= section.content.size() - moved.begin;
  }

  static std::vector<Moved> Find(const Image& image, const ShownVariables* shown) {
    std::vector<Moved> found;
    if (shown == nullptr) return found;
    for (const cubin::ProgramSymbol& symbol : image.program.symbols) {
      if (symbol.section == 0 || symbol.bytes == 0) continue;
      const auto variable = std::ranges::find(*shown, symbol.name, &ShownVariable::name);
      if (variable == shown->end()) continue;
      found.push_back({symbol.section, symbol.value, std::min(symbol.bytes, variable->bytes),
                       variable->address});
    }
    return found;
  }

  void Describe(const Image& image, std::string_view name, const std::vector<Moved>& moved,
                MachineCode& code) {
    if (moved.empty()) code.content = image.content;
    for (std::uint32_t i = 0; i < image.program.sections.size(); ++i) {
      const cubin::ProgramSection& section = image.program.sections[i];
      if (!IsVariable(section)) continue;
      const std::uint64_t address = AddressOf(image, i);
      // A file may claim more than there is.
      code.variables.emplace_back(address, address + std::min(section.bytes, kModuleEnd - address));
    }
    for (const Moved& variable : moved) {
      if (!IsVariable(image.program.sections[variable.section])) continue;
      code.variables.emplace_back(variable.to, variable.to + variable.bytes);
    }
    if (auto done = Build(image, name, moved, code); !done) {
      code.program.reset();
      code.refusal = done.error().message;
    }
  }

  base::Result<Image*> Load(const void* start, cubin::Capability device, value::Store& store) {
    for (const auto& image : images_) {
      if (image->start == start) return image.get();
    }
    const auto found = cubin::FindImage(start);
    if (!found) return std::unexpected(found.error());
    if (found->kind == cubin::ImageKind::kPtx) {
      return Fail(ErrorCode::kUnsupported, "its code is PTX, which only a driver compiles");
    }
    auto image = std::make_unique<Image>();
    image->start = start;
    if (found->kind == cubin::ImageKind::kCubin) {
      image->unpacked.assign(found->bytes.begin(), found->bytes.end());
    } else {
      const auto binary = cubin::FatBinary::Parse(found->bytes);
      if (!binary) return std::unexpected(binary.error());
      const cubin::FatEntry* entry = binary->Choose(device);
      if (entry == nullptr || entry->is_ptx) {
        return Fail(ErrorCode::kUnsupported, StrCat("no machine code for ", device.major, ".",
                                                    device.minor, " in its fat binary"));
      }
      auto unpacked = cubin::Unpack(*entry);
      if (!unpacked) return std::unexpected(std::move(unpacked.error()));
      image->unpacked = std::move(*unpacked);
    }
    if (auto opened = Open(*image, store); !opened) {
      return std::unexpected(std::move(opened.error()));
    }
    images_.push_front(std::move(image));
    if (images_.size() > kMostImages) images_.pop_back();
    return images_.front().get();
  }

  // Reads what was unpacked; sets the image's variables the first time.
  base::Result<void> Open(Image& image, value::Store& store) {
    auto code = cubin::ParseCubin(image.unpacked);
    if (!code) return std::unexpected(std::move(code.error()));
    if (!sass::DialectOf(code->target.architecture)) {
      return Fail(ErrorCode::kUnsupported, StrCat("code for ", Name(code->target)));
    }
    auto program = cubin::ParseProgram(image.unpacked);
    if (!program) return std::unexpected(std::move(program.error()));
    image.content = base::Hash128(image.unpacked.data(), image.unpacked.size());
    image.code = std::move(*code);
    image.program = std::move(*program);
    if (started_.insert(image.start).second) SetVariables(image, store);
    return {};
  }

  std::uint64_t AddressOf(const Image& image, std::uint32_t section) {
    const auto [place, added] = addresses_.try_emplace({image.start, section}, next_address_);
    if (added) {
      const std::uint64_t bytes = image.program.sections[section].bytes;
      // The limit is behind the end, where kernels fault, when a file claims too much.
      const std::uint64_t left = kModuleEnd - next_address_;
      const std::uint64_t wanted = (std::min(bytes, left) / kSectionGap + 2) * kSectionGap;
      next_address_ += std::min(wanted, left);
    }
    return place->second;
  }

  void SetVariables(const Image& image, value::Store& store) {
    for (std::uint32_t i = 0; i < image.program.sections.size(); ++i) {
      const cubin::ProgramSection& section = image.program.sections[i];
      if (!IsVariable(section)) continue;
      const std::uint64_t address = AddressOf(image, i);
      if (section.bytes > value::Store::kLargestKeptWrite) continue;
      if (section.content.empty()) {
        store.Fill(address, 0, 1, section.bytes);
      } else {
        store.Write(address, section.content.data(), section.content.size());
      }
    }
  }

  base::Result<void> Build(const Image& image, std::string_view name,
                           const std::vector<Moved>& moved, MachineCode& code) {
    const auto function = std::ranges::find(image.code.functions, name, &cubin::Function::name);
    const auto text = image.program.FindSection(StrCat(".text.", name));
    if (function == image.code.functions.end() || !text) {
      return Fail(ErrorCode::kNotFound,
                  StrCat("not in its container's code for ", Name(image.code.target)));
    }
    code.program = std::make_unique<interpret::Program>();
    interpret::Program& program = *code.program;
    program.name = name;
    program.dialect = *sass::DialectOf(image.code.target.architecture);
    program.parameter_base = function->parameter_base;
    program.local_bytes = function->local_bytes;
    program.registers = function->registers;
    program.static_shared_bytes = function->static_shared_bytes;
    for (const auto& [bank, section] : {std::pair(2u, StrCat(".nv.constant2.", name)),
                                        std::pair(3u, std::string(kConstantVariables)),
                                        std::pair(4u, std::string(".nv.constant4"))}) {
      if (const auto index = image.program.FindSection(section)) {
        program.banks[bank] = Relocated(image, *index, moved);
      }
    }
    const cubin::Bytes content = image.program.sections[*text].content;
    const auto done = interpret::Translate(content, program);
    if (!done && !interpret::TranslateToFollow(content, program)) return done;
    SetIndirectTargets(image, name, program);
    for (const std::uint32_t bank : program.banks_read) {
      if (bank != 0 && !program.banks.contains(bank)) {
        return Fail(ErrorCode::kUnsupported,
                    StrCat("reads constant bank ", bank, ", which its container does not hold"));
      }
      if (bank == 3) SetConstants(image, moved, code);
    }
    if (!done) code.outline = std::move(code.program);
    return done;
  }

  static void SetConstants(const Image& image, const std::vector<Moved>& moved, MachineCode& code) {
    for (const Moved& variable : moved) {
      const cubin::ProgramSection& section = image.program.sections[variable.section];
      if (section.name != kConstantVariables || !Holds(section, variable)) continue;
      code.constants.push_back(
          {static_cast<std::uint32_t>(variable.begin), variable.to, variable.bytes});
    }
  }

  // Requires: translated.
  static void SetIndirectTargets(const Image& image, std::string_view name,
                                 interpret::Program& program) {
    const auto info = image.program.FindSection(StrCat(".nv.info.", name));
    if (!info) return;
    for (auto& [at, targets] : cubin::ReadIndirectBranches(image.program.sections[*info].content)) {
      const bool are_steps = std::ranges::all_of(targets, [&](std::uint32_t target) {
        return target % sass::kWordBytes == 0 && target / sass::kWordBytes < program.steps.size();
      });
      if (!are_steps || targets.empty()) continue;
      for (std::uint32_t& target : targets) target /= sass::kWordBytes;
      std::ranges::sort(targets);
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      program.indirect_targets[at / sass::kWordBytes] = std::move(targets);
    }
  }

  // Returns where kernels find what lies at `offset` of the section.
  std::uint64_t PlaceOf(const Image& image, std::uint32_t section, std::uint64_t offset,
                        const std::vector<Moved>& moved) {
    for (const Moved& variable : moved) {
      const std::uint64_t distance = offset - variable.begin;
      if (variable.section == section && distance < variable.bytes) return variable.to + distance;
    }
    return AddressOf(image, section) + offset;
  }

  std::vector<std::byte> Relocated(const Image& image, std::uint32_t section,
                                   const std::vector<Moved>& moved) {
    const cubin::Bytes content = image.program.sections[section].content;
    std::vector<std::byte> bytes(content.begin(), content.end());
    for (const cubin::Relocation& relocation : image.program.relocations) {
      if (relocation.section != section || relocation.type != cubin::kRelocation64) continue;
      if (bytes.size() < 8 || relocation.offset > bytes.size() - 8) continue;
      const cubin::ProgramSymbol& symbol = image.program.symbols[relocation.symbol];
      const std::uint64_t offset = symbol.value + static_cast<std::uint64_t>(relocation.addend);
      const std::uint64_t address = PlaceOf(image, symbol.section, offset, moved);
      std::memcpy(bytes.data() + relocation.offset, &address, 8);
    }
    return bytes;
  }

  std::mutex mutex_;  // Guards everything below.
  std::map<std::tuple<const void*, std::string, const ShownVariables*>, MachineCode> kernels_;
  std::deque<std::unique_ptr<Image>> images_;  // Latest first.
  std::unordered_set<const void*> started_;    // Images whose variables have been set.
  std::map<std::pair<const void*, std::uint32_t>, std::uint64_t> addresses_;  // Of sections.
  std::uint64_t next_address_ = kModuleBegin;
};

Cache& TheCache() {
  // Never destroyed: threads may outlive main.
  static Cache* const cache = new Cache;
  return *cache;
}

class Showing : public value::Deferred {
 public:
  Showing(const void* image, cubin::Capability device, ShownVariable variable)
      : image_(image), device_(device), variable_(std::move(variable)) {}

  void Perform(value::Store& store) override { TheCache().Show(image_, device_, variable_, store); }
  bool MayChange(value::Store&, std::uint64_t address, std::size_t size) override {
    return address < variable_.address + variable_.bytes && variable_.address < address + size;
  }

 private:
  const void* image_;
  cubin::Capability device_;
  ShownVariable variable_;
};

}  // namespace

base::Result<MachineCode> ReadMachineCode(std::span<const std::byte> cubin, std::string_view name,
                                          value::Store& store) {
  return Cache().Read(cubin, name, store);
}

const MachineCode& FindMachineCode(const void* image, std::string_view name,
                                   cubin::Capability device, value::Store& store,
                                   const ShownVariables* shown) {
  return TheCache().Find(image, name, device, store, shown);
}

bool SetConstants(const MachineCode& code, const value::Store& store) {
  return std::ranges::all_of(code.constants, [&](const SetConstant& constant) {
    std::vector<std::byte>& bank = code.program->banks.at(3);
    CHECK(constant.offset + constant.bytes <= bank.size());
    return store.Read(constant.address, bank.data() + constant.offset, constant.bytes) == 0;
  });
}

void ShowVariable(const void* image, cubin::Capability device, const ShownVariable& variable) {
  value::ProcessPending().Defer(std::make_unique<Showing>(image, device, variable));
}

}  // namespace eidolon::shim::compute
