// NVIDIA does not document these lists; `cuobjdump -elf` prints their entries with names that begin
// with EIATTR_. Unknown attributes are skipped, so that newer compilers' cubins stay readable. What
// fails and what is tolerated follows from the use. A launch copies arguments by the parameters'
// layout, so a function's list that is cut short, or whose parameters are incomplete or overlap, is
// an error. Registers, stack and branch targets only improve what is known about a kernel, so a
// damaged list of those ends early.
#include "services/machine_code/cubin/attributes.h"

#include <algorithm>
#include <utility>

#include "services/base/text.h"

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

constexpr std::uint8_t kFormatSized = 4;

enum Attribute : std::uint8_t {
  kMaxThreads = 0x05,
  kParameterBank = 0x0a,
  kRequiredThreads = 0x10,
  kStackBytes = 0x12,
  kParameterPacked = 0x17,  // Sizes up to 16,383 bytes.
  kParameterTotal = 0x19,
  kRegisters = 0x2f,
  kIndirectBranches = 0x34,
  kClusterDims = 0x3d,
  kClusterBlocksMax = 0x3f,
  kParameterWide = 0x45,  // Kernels with more than 4 KiB of parameters.
  kBarriers = 0x4c,
};

struct Entry {
  std::uint8_t format = 0;
  std::uint8_t attribute = 0;
  std::uint16_t value = 0;
  Bytes payload;
};

// The entry at `offset`, moving it on; nothing at the end or when the rest is cut short.
std::optional<Entry> NextEntry(Bytes list, std::uint64_t& offset) {
  struct Header {
    std::uint8_t format;
    std::uint8_t attribute;
    std::uint16_t value;
  };
  const auto header = ReadAt<Header>(list, offset);
  if (!header) return std::nullopt;
  Entry entry{header->format, header->attribute, header->value, {}};
  offset += sizeof(Header);
  if (header->format == kFormatSized) {
    const auto payload = Slice(list, offset, header->value);
    if (!payload) return std::nullopt;
    entry.payload = *payload;
    offset += header->value;
  }
  return entry;
}

std::array<std::uint32_t, 3> ReadTriple(Bytes payload) {
  return ReadAt<std::array<std::uint32_t, 3>>(payload, 0).value_or(std::array<std::uint32_t, 3>{});
}

struct NumberedParameter {
  std::uint32_t ordinal = 0;
  Parameter parameter;
};

std::optional<NumberedParameter> ReadParameter(const Entry& entry) {
  struct Packed {
    std::uint32_t index;
    std::uint16_t ordinal;
    std::uint16_t offset;
    std::uint32_t bits;
  };
  struct Wide {
    std::uint32_t index;
    std::uint16_t ordinal;
    std::uint16_t offset;
    std::uint16_t bytes;
    std::uint16_t flags;
  };
  constexpr std::uint32_t kSizeShift = 18;
  if (entry.attribute == kParameterPacked) {
    const auto packed = ReadAt<Packed>(entry.payload, 0);
    if (!packed) return std::nullopt;
    return NumberedParameter{packed->ordinal, {packed->offset, packed->bits >> kSizeShift}};
  }
  const auto wide = ReadAt<Wide>(entry.payload, 0);
  if (!wide) return std::nullopt;
  return NumberedParameter{wide->ordinal, {wide->offset, wide->bytes}};
}

void ReadSimple(const Entry& entry, Function& function) {
  switch (entry.attribute) {
    case kMaxThreads:
      function.block_max = ReadTriple(entry.payload);
      break;
    case kRequiredThreads:
      function.block_required = ReadTriple(entry.payload);
      break;
    case kParameterTotal:
      function.parameter_bytes = entry.value;
      break;
    case kParameterBank:
      function.parameter_base = ReadAt<std::uint16_t>(entry.payload, 4).value_or(0);
      break;
    case kClusterDims:
      function.cluster = ReadTriple(entry.payload);
      break;
    case kClusterBlocksMax:
      function.cluster_blocks_max = ReadAt<std::uint32_t>(entry.payload, 0).value_or(0);
      break;
    case kBarriers:
      function.barriers = entry.value & 0xff;
      break;
    default:
      break;
  }
}

// The parameters by ordinal, checked to be complete and not to overlap: launches copy by this
// layout.
base::Result<void> SetParameters(std::vector<NumberedParameter>& found, Function& function) {
  std::ranges::sort(found, {}, &NumberedParameter::ordinal);
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Parameter& parameter = found[i].parameter;
    if (found[i].ordinal != i)
      return Fail(ErrorCode::kCorrupt, StrCat("parameter ", i, " missing"));
    if (parameter.offset < end) {
      return Fail(ErrorCode::kCorrupt, StrCat("parameter ", i, " overlaps the one before"));
    }
    end = parameter.offset + parameter.bytes;
    function.parameters.push_back(parameter);
  }
  if (function.parameter_bytes == 0) function.parameter_bytes = end;
  if (end > function.parameter_bytes) {
    return Fail(ErrorCode::kCorrupt, StrCat("parameters end at ", end, " in a block of ",
                                            function.parameter_bytes, " bytes"));
  }
  return {};
}

}  // namespace

base::Result<void> ReadFunctionAttributes(Bytes list, Function& function) {
  std::vector<NumberedParameter> parameters;
  std::uint64_t offset = 0;
  while (offset < list.size()) {
    const auto entry = NextEntry(list, offset);
    if (!entry) return Fail(ErrorCode::kCorrupt, "its attribute list is cut short");
    if (entry->attribute == kParameterPacked || entry->attribute == kParameterWide) {
      const auto parameter = ReadParameter(*entry);
      if (!parameter) return Fail(ErrorCode::kCorrupt, "a parameter's attribute is cut short");
      parameters.push_back(*parameter);
    } else {
      ReadSimple(*entry, function);
    }
  }
  return SetParameters(parameters, function);
}

std::vector<IndirectBranch> ReadIndirectBranches(Bytes list) {
  struct Header {
    std::uint32_t at;
    std::uint32_t unused;
    std::uint32_t count;
  };
  std::vector<IndirectBranch> branches;
  std::uint64_t offset = 0;
  while (const auto entry = NextEntry(list, offset)) {
    if (entry->attribute != kIndirectBranches) continue;
    std::uint64_t at = 0;
    while (const auto header = ReadAt<Header>(entry->payload, at)) {
      at += sizeof(Header);
      IndirectBranch branch{.at = header->at, .targets = {}};
      for (std::uint32_t i = 0; i < header->count; ++i) {
        const auto target = ReadAt<std::uint32_t>(entry->payload, at);
        if (!target) return branches;
        branch.targets.push_back(*target);
        at += sizeof(*target);
      }
      branches.push_back(std::move(branch));
    }
  }
  return branches;
}

std::vector<LinkedAttribute> ReadLinkedAttributes(Bytes list) {
  struct SymbolValue {
    std::uint32_t symbol;
    std::uint32_t value;
  };
  std::vector<LinkedAttribute> attributes;
  std::uint64_t offset = 0;
  while (const auto entry = NextEntry(list, offset)) {
    if (entry->attribute != kRegisters && entry->attribute != kStackBytes) continue;
    const auto pair = ReadAt<SymbolValue>(entry->payload, 0);
    if (!pair) continue;
    LinkedAttribute attribute{.symbol = pair->symbol, .registers = {}, .stack_bytes = {}};
    (entry->attribute == kRegisters ? attribute.registers : attribute.stack_bytes) = pair->value;
    attributes.push_back(attribute);
  }
  return attributes;
}

}  // namespace eidolon::cubin
