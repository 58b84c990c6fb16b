// Index of one cubin or PTX text for launching, as one flat block of bytes: it is built once per
// content, kept in a file, and read in place by every later process without copying or parsing.
//
//   IndexHeader | FunctionRow[functions], by name | VariableRow[variables], by name
//               | Parameter[parameters] | names
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "services/base/error.h"
#include "services/base/hash.h"
#include "services/machine_code/cubin/bytes.h"
#include "services/machine_code/cubin/code.h"

namespace eidolon::cubin {

struct IndexHeader {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint64_t check;   // Hash64 of everything behind the header.
  base::Digest content;  // Hash128 of the cubin or PTX text.
  Target target;
  std::uint32_t is_ptx;
  std::uint32_t constant_bytes;
  std::uint32_t functions;
  std::uint32_t variables;
  std::uint32_t parameters;
  std::uint32_t name_bytes;
};

// Row as Function in code.h, with the parameters and the name elsewhere in the block.
struct FunctionRow {
  std::uint32_t name;
  std::uint32_t name_bytes;
  std::uint32_t first_parameter;
  std::uint32_t parameters;
  std::uint32_t parameter_bytes;
  std::uint32_t parameter_base;
  std::uint32_t registers;
  std::uint32_t static_shared_bytes;
  std::uint32_t local_bytes;
  std::uint32_t barriers;
  std::uint32_t block_max[3];
  std::uint32_t block_required[3];
  std::uint32_t cluster[3];
  std::uint32_t cluster_blocks_max;
};

struct VariableRow {
  std::uint64_t bytes;
  std::uint32_t name;
  std::uint32_t name_bytes;
  std::uint32_t constant;
  std::uint32_t reserved;
};

// A checked view of such a block; the bytes must outlive it.
class Index {
 public:
  Index() = default;
  // Refuses a block of another version, cut short or changed.
  static base::Result<Index> Open(Bytes block);

  const IndexHeader& header() const { return *header_; }
  std::span<const FunctionRow> functions() const { return functions_; }
  std::span<const VariableRow> variables() const { return variables_; }

  const FunctionRow* FindFunction(std::string_view name) const;
  const VariableRow* FindVariable(std::string_view name) const;
  std::string_view NameOf(const FunctionRow& row) const { return Text(row.name, row.name_bytes); }
  std::string_view NameOf(const VariableRow& row) const { return Text(row.name, row.name_bytes); }
  std::span<const Parameter> ParametersOf(const FunctionRow& row) const {
    return parameters_.subspan(row.first_parameter, row.parameters);
  }

 private:
  std::string_view Text(std::uint32_t offset, std::uint32_t bytes) const {
    return names_.substr(offset, bytes);
  }

  const IndexHeader* header_ = nullptr;
  std::span<const FunctionRow> functions_;
  std::span<const VariableRow> variables_;
  std::span<const Parameter> parameters_;
  std::string_view names_;
};

// Requires: fewer than 2^32 bytes of names and parameters, which ParseCubin and ParsePtx guarantee.
std::vector<std::byte> BuildIndex(const Code& code, base::Digest content);

}  // namespace eidolon::cubin
