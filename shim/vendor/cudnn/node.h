// The backend's descriptors as a tree: what a program stores with cudnnBackendSetAttribute.
//
// A program's handle (cudnnBackendDescriptor_t) refers to a node; nodes refer to each other, so
// that a plan keeps its graph after the program destroyed the descriptors it was made of.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace eidolon::shim::cudnn {

struct Node;

struct Attribute {
  cudnnBackendAttributeType_t type{};
  std::vector<std::byte> bytes;              // Plain elements, one after another.
  std::vector<std::shared_ptr<Node>> nodes;  // CUDNN_TYPE_BACKEND_DESCRIPTOR.

  std::int64_t count() const;
};

// Bytes of one element; 0 for an unknown type.
std::size_t ElementBytes(cudnnBackendAttributeType_t type);

struct Plan;  // What executing needs; plan.h.

struct Node {
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;  // Sorted: iteration is observable.
  std::shared_ptr<const Plan> plan;                             // Of a finalized execution plan.

  const Attribute* Find(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : &found->second;
  }
  // The node that an attribute refers to, or nullptr.
  const Node* FindNode(cudnnBackendAttributeName_t name) const {
    const Attribute* attribute = Find(name);
    return attribute == nullptr || attribute->nodes.empty() ? nullptr : attribute->nodes[0].get();
  }
  // Element `index` of a plain attribute, or `fallback` when it is missing.
  template <typename T>
  T Get(cudnnBackendAttributeName_t name, std::size_t index, T fallback) const {
    const Attribute* attribute = Find(name);
    if (attribute == nullptr || attribute->bytes.size() < (index + 1) * sizeof(T)) return fallback;
    if constexpr (std::is_same_v<T, bool>) {
      return attribute->bytes[index] != std::byte{0};  // A program may store any byte.
    } else {
      T value;
      std::memcpy(&value, attribute->bytes.data() + index * sizeof(T), sizeof(T));
      return value;
    }
  }
};

// The descriptor type that an attribute belongs to; -1 for an unknown number.
int OwnerOf(cudnnBackendAttributeName_t name);

// Attributes that a descriptor of the type must have to be finalized.
std::span<const cudnnBackendAttributeName_t> RequiredAttributes(cudnnBackendDescriptorType_t type);

}  // namespace eidolon::shim::cudnn
