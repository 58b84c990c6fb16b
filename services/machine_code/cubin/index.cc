// Open checks everything once: size, hash, and that each offset and count stays within the block.
// Lookups may then follow offsets without checks, in a file that any process could have damaged.
// Rows must have no padding, which Put enforces: padding bytes would be undefined, and equal code
// would give blocks with different hashes. The header is written twice, because its counts are
// known only after the rows. Rows are sorted by name, so that a lookup is a binary search and needs
// no table that a process would have to build.
#include "services/machine_code/cubin/index.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace eidolon::cubin {
namespace {

using base::ErrorCode;
using base::Fail;

// The version is part of it: a change of any row is a new number.
constexpr std::uint64_t kMagic = 0x3278656e69626375;  // "ucbinex2"

// Bytes of a block with these counts; the counts come from a file.
std::uint64_t SizeFor(const IndexHeader& header) {
  return sizeof(IndexHeader) + std::uint64_t{header.functions} * sizeof(FunctionRow) +
         std::uint64_t{header.variables} * sizeof(VariableRow) +
         std::uint64_t{header.parameters} * sizeof(Parameter) + header.name_bytes;
}

std::uint64_t CheckOf(Bytes block) {
  return base::Hash64(block.data() + sizeof(IndexHeader), block.size() - sizeof(IndexHeader),
                      kMagic);
}

template <typename Row, typename Name>
const Row* FindRow(std::span<const Row> rows, std::string_view wanted, Name&& name) {
  const auto found = std::ranges::lower_bound(rows, wanted, {}, name);
  return found != rows.end() && name(*found) == wanted ? &*found : nullptr;
}

// Items of one name, which a damaged file may have, stay in their order.
template <typename Item>
std::vector<const Item*> SortedByName(const std::vector<Item>& items) {
  std::vector<std::pair<std::string_view, std::size_t>> order;
  for (const Item& item : items) order.emplace_back(item.name, order.size());
  std::ranges::sort(order);
  std::vector<const Item*> sorted;
  for (const auto& [name, number] : order) sorted.push_back(&items[number]);
  return sorted;
}

// Appends rows and names to a block.
class Builder {
 public:
  template <typename T>
  void Put(const T& value) {
    static_assert(std::has_unique_object_representations_v<T>, "padding would be undefined bytes");
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    block_.insert(block_.end(), from, from + sizeof(T));
  }
  std::uint32_t AddName(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_.append(name);
    return at;
  }
  std::vector<std::byte> Finish(IndexHeader header) {
    const auto* from = reinterpret_cast<const std::byte*>(names_.data());
    block_.insert(block_.end(), from, from + names_.size());
    header.name_bytes = static_cast<std::uint32_t>(names_.size());
    header.bytes = block_.size();
    header.check = CheckOf(block_);
    std::memcpy(block_.data(), &header, sizeof(header));
    return std::move(block_);
  }

 private:
  std::vector<std::byte> block_;
  std::string names_;
};

FunctionRow RowOf(const Function& function, std::uint32_t name, std::uint32_t first_parameter) {
  FunctionRow row = {
      .name = name,
      .name_bytes = static_cast<std::uint32_t>(function.name.size()),
      .first_parameter = first_parameter,
      .parameters = static_cast<std::uint32_t>(function.parameters.size()),
      .parameter_bytes = function.parameter_bytes,
      .parameter_base = function.parameter_base,
      .registers = function.registers,
      .static_shared_bytes = function.static_shared_bytes,
      .local_bytes = function.local_bytes,
      .barriers = function.barriers,
      .block_max = {},
      .block_required = {},
      .cluster = {},
      .cluster_blocks_max = function.cluster_blocks_max,
  };
  std::ranges::copy(function.block_max, row.block_max);
  std::ranges::copy(function.block_required, row.block_required);
  std::ranges::copy(function.cluster, row.cluster);
  return row;
}

}  // namespace

base::Result<Index> Index::Open(Bytes block) {
  const auto header = ReadAt<IndexHeader>(block, 0);
  if (!header || header->magic != kMagic) return Fail(ErrorCode::kCorrupt, "not a cubin index");
  if (header->bytes != block.size() || SizeFor(*header) != block.size()) {
    return Fail(ErrorCode::kCorrupt, "cubin index has another size than its header says");
  }
  if (reinterpret_cast<std::uintptr_t>(block.data()) % alignof(IndexHeader) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "cubin index is not aligned");
  }
  if (header->check != CheckOf(block)) return Fail(ErrorCode::kCorrupt, "cubin index is damaged");
  Index index;
  const std::byte* at = block.data();
  index.header_ = reinterpret_cast<const IndexHeader*>(at);
  at += sizeof(IndexHeader);
  index.functions_ = {reinterpret_cast<const FunctionRow*>(at), header->functions};
  at += index.functions_.size_bytes();
  index.variables_ = {reinterpret_cast<const VariableRow*>(at), header->variables};
  at += index.variables_.size_bytes();
  index.parameters_ = {reinterpret_cast<const Parameter*>(at), header->parameters};
  at += index.parameters_.size_bytes();
  index.names_ = {reinterpret_cast<const char*>(at), header->name_bytes};

  const auto inside = [](std::uint64_t first, std::uint64_t count, std::uint64_t size) {
    return first + count <= size;
  };
  for (const FunctionRow& row : index.functions_) {
    bool good = inside(row.name, row.name_bytes, header->name_bytes) &&
                inside(row.first_parameter, row.parameters, header->parameters);
    for (std::uint32_t i = 0; good && i < row.parameters; ++i) {
      const Parameter& parameter = index.parameters_[row.first_parameter + i];
      good = inside(parameter.offset, parameter.bytes, row.parameter_bytes);
    }
    if (!good) return Fail(ErrorCode::kCorrupt, "cubin index has a function that points outside");
  }
  for (const VariableRow& row : index.variables_) {
    if (!inside(row.name, row.name_bytes, header->name_bytes)) {
      return Fail(ErrorCode::kCorrupt, "cubin index has a variable that points outside");
    }
  }
  return index;
}

const FunctionRow* Index::FindFunction(std::string_view name) const {
  return FindRow(functions_, name, [this](const FunctionRow& row) { return NameOf(row); });
}

const VariableRow* Index::FindVariable(std::string_view name) const {
  return FindRow(variables_, name, [this](const VariableRow& row) { return NameOf(row); });
}

std::vector<std::byte> BuildIndex(const Code& code, base::Digest content) {
  const auto functions = SortedByName(code.functions);
  const auto variables = SortedByName(code.variables);
  Builder builder;
  IndexHeader header = {
      .magic = kMagic,
      .bytes = 0,
      .check = 0,
      .content = content,
      .target = code.target,
      .is_ptx = code.is_ptx ? 1u : 0u,
      .constant_bytes = code.constant_bytes,
      .functions = static_cast<std::uint32_t>(functions.size()),
      .variables = static_cast<std::uint32_t>(variables.size()),
      .parameters = 0,
      .name_bytes = 0,
  };
  builder.Put(header);
  for (const Function* function : functions) {
    builder.Put(RowOf(*function, builder.AddName(function->name), header.parameters));
    header.parameters += static_cast<std::uint32_t>(function->parameters.size());
  }
  for (const Variable* variable : variables) {
    builder.Put(VariableRow{.bytes = variable->bytes,
                            .name = builder.AddName(variable->name),
                            .name_bytes = static_cast<std::uint32_t>(variable->name.size()),
                            .constant = variable->constant ? 1u : 0u,
                            .reserved = 0});
  }
  for (const Function* function : functions) {
    for (const Parameter& parameter : function->parameters) builder.Put(parameter);
  }
  return builder.Finish(header);
}

}  // namespace eidolon::cubin
