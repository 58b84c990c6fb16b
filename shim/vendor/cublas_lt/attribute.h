// Attributes of cuBLASLt's descriptors: which number names which field, and the size check that
// every setter and getter makes.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace eidolon::shim::cublas_lt {

struct Attribute {
  int number;
  std::size_t offset;  // Of the field in the descriptor.
  std::size_t bytes;
};

// INVALID_VALUE for an unknown number, a null buffer, or a size that is not the field's.
cublasStatus_t SetAttribute(std::span<const Attribute> table, void* descriptor, int number,
                            const void* value, std::size_t bytes);
// Follows the documentation: with bytes 0 only the size is written, else the value and, if
// requested, the size.
cublasStatus_t GetAttribute(std::span<const Attribute> table, const void* descriptor, int number,
                            void* value, std::size_t bytes, std::size_t* written);
// The getter's protocol for a value that is at hand.
cublasStatus_t AnswerAttribute(const void* field, std::size_t field_bytes, void* value,
                               std::size_t bytes, std::size_t* written);

}  // namespace eidolon::shim::cublas_lt
