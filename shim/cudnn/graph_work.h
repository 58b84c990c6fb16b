// Assembling a DnnGraphWork: tensors by the program's identifiers, renumbered in order of
// appearance so that equal graphs have equal bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "services/ring/work.h"

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
  void Add(const ring::DnnOperation& operation) { operations_.push_back(operation); }

  static void AddInput(ring::DnnOperation& operation, std::int64_t number);
  static void AddOutput(ring::DnnOperation& operation, std::int64_t number);

  bool empty() const { return operations_.empty(); }
  std::span<const ring::DnnTensor> tensors() const { return tensors_; }
  std::span<const ring::DnnOperation> operations() const { return operations_; }
  std::vector<std::byte> Bytes(std::uint32_t engine) const;

 private:
  std::map<std::int64_t, std::int64_t> numbers_;  // By the program's identifier.
  std::vector<ring::DnnTensor> tensors_;
  std::vector<ring::DnnOperation> operations_;
};

}  // namespace eidolon::shim::cudnn
