// Assembling a workload::DnnGraph: tensors by the program's identifiers, renumbered in order of
// appearance so that equal graphs have equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "services/contract/workload/work.h"

namespace eidolon::shim::cudnn {

struct Tensor {
  std::vector<std::int64_t> dims;
  std::vector<std::int64_t> strides;
  std::uint32_t type = 0;  // cudaDataType_t.
  bool is_virtual = false;
  bool by_value = false;
};

// Bytes from the first to the last element.
std::uint64_t ExtentOf(const Tensor& tensor);

class GraphWork {
 public:
  // The work's number of a tensor; the first call with an identifier decides its shape.
  std::int64_t Add(std::int64_t uid, const Tensor& tensor);
  // Returns that number; 0 for an identifier that was never added.
  std::int64_t NumberOf(std::int64_t uid) const;
  void Add(const workload::DnnOperation& operation) { operations_.push_back(operation); }

  static void AddInput(workload::DnnOperation& operation, std::int64_t number);
  static void AddOutput(workload::DnnOperation& operation, std::int64_t number);

  bool empty() const { return operations_.empty(); }
  std::span<const workload::DnnTensor> tensors() const { return tensors_; }
  std::span<const workload::DnnOperation> operations() const { return operations_; }
  // `nodes`: descriptors to make the graph again from (GraphNodes), or nothing.
  std::vector<std::byte> Bytes(std::uint32_t engine, std::string_view nodes) const;

 private:
  std::map<std::int64_t, std::int64_t> numbers_;  // By the program's identifier.
  std::vector<workload::DnnTensor> tensors_;
  std::vector<workload::DnnOperation> operations_;
};

}  // namespace eidolon::shim::cudnn
