#include "shim/vendor/cublas_lt/attribute.h"

#include <cstring>

namespace eidolon::shim::cublas_lt {
namespace {

const Attribute* Find(std::span<const Attribute> table, int number) {
  for (const Attribute& attribute : table) {
    if (attribute.number == number) return &attribute;
  }
  return nullptr;
}

}  // namespace

cublasStatus_t SetAttribute(std::span<const Attribute> table, void* descriptor, int number,
                            const void* value, std::size_t bytes) {
  const Attribute* attribute = Find(table, number);
  if (descriptor == nullptr || value == nullptr || attribute == nullptr ||
      attribute->bytes != bytes) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  std::memcpy(static_cast<char*>(descriptor) + attribute->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t GetAttribute(std::span<const Attribute> table, const void* descriptor, int number,
                            void* value, std::size_t bytes, std::size_t* written) {
  const Attribute* attribute = Find(table, number);
  if (descriptor == nullptr || attribute == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const auto* field = static_cast<const char*>(descriptor) + attribute->offset;
  return AnswerAttribute(field, attribute->bytes, value, bytes, written);
}

cublasStatus_t AnswerAttribute(const void* field, std::size_t field_bytes, void* value,
                               std::size_t bytes, std::size_t* written) {
  if (bytes == 0) {
    if (written == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *written = field_bytes;
    return CUBLAS_STATUS_SUCCESS;
  }
  if (value == nullptr || bytes != field_bytes) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, field, field_bytes);
  if (written != nullptr) *written = field_bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace eidolon::shim::cublas_lt
