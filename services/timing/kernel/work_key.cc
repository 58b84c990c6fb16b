// A key must stay the same over versions, or stored measurements are lost. Numbers take eight bytes
// each, texts their length first, so that the bytes of two fields cannot be confused. A field that
// came later is written only where it is set, or behind a mark that no older item has: keys of
// items without it stay what they were. Parts of a key come from the field table of work
// definitions (Key), which says what scales an item; a class key leaves those fields out.
// Parameters are kept only as far as they decide the time (ParametersOf).
#include "services/timing/kernel/work_key.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "services/contract/cudnn_numbers/attribute.h"
#include "services/contract/torch_layout/tensor_list.h"
#include "services/contract/workload/copy_kind.h"
#include "services/contract/workload/fields.h"

namespace eidolon::timing::kernel {
namespace {

using workload::Key;

// Appends numbers and strings in a form that does not depend on the machine.
class Writer {
 public:
  template <typename T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) Writer& Add(T value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) out_.push_back(static_cast<char>(bits & 0xff));
    return *this;
  }
  Writer& Add(const std::string& text) {
    Add(text.size());
    out_ += text;
    return *this;
  }
  Writer& Add(const Dim3& d) { return Add(d.x).Add(d.y).Add(d.z); }
  Writer& Add(std::span<const std::int64_t> numbers) {
    Add(numbers.size());
    for (const std::int64_t number : numbers) Add(number);
    return *this;
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

// Returns the parameters as far as they decide how long the kernel takes.
std::string ParametersOf(const KernelLaunch& k) {
  std::string parameters = k.parameters;
  if (k.name.find("TensorList") == std::string::npos) return parameters;
  for (const ParameterSlot& slot : k.slots) {
    const auto lists = torch_layout::FindTensorLists(k.name, slot.bytes);
    if (!lists || std::size_t{slot.offset} + slot.bytes > parameters.size()) continue;
    const auto bytes = std::as_writable_bytes(std::span(parameters)).subspan(slot.offset);
    lists->NumberFromFirstChunk(bytes.data(), k.grid.x);
  }
  return parameters;
}

// The fields that the table gives this part of the key.
template <typename Struct>
void WriteFields(const Struct& work, std::initializer_list<Key> parts, Writer& w) {
  workload::ForEachField<Struct>([&](const auto& field) {
    if (std::ranges::find(parts, field.key) == parts.end()) return;
    const auto& value = work.*field.member;
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      // Only the alignment of a leading dimension matters, and up to 16 elements.
      if (field.key == Key::kAlignment) return void(w.Add(value == 0 ? 0u : value & -value & 15u));
      if (field.key == Key::kWhenSet && value == 0) return;
      if (field.key == Key::kFlag || field.key == Key::kWhenSet) return void(w.Add(value != 0));
    }
    if constexpr (!std::is_array_v<std::remove_cvref_t<decltype(value)>>) w.Add(value);
  });
}

void Write(const KernelLaunch& k, bool sized, Writer& w) {
  w.Add(k.name).Add(k.ModuleHash());
  WriteFields<workload::Kernel>(k, {Key::kShape}, w);
  if (!sized) return;
  WriteFields<workload::Kernel>(k, {Key::kSize}, w);
  w.Add(k.cooperative != 0).Add(ParametersOf(k));
}

void Write(const Gemm& g, bool sized, Writer& w) {
  WriteFields(g, {Key::kShape, Key::kFlag}, w);
  WriteFields(g, {Key::kAlignment}, w);
  if (sized) WriteFields(g, {Key::kSize}, w);
  WriteFields(g, {Key::kWhenSet}, w);
}

// Nothing for a graph without them: older profiles know only those.
void Write(const std::vector<DnnNode>& nodes, bool sized, Writer& w) {
  for (const DnnNode& node : nodes) {
    w.Add(node.type).Add(node.attributes.size());
    for (const DnnAttribute& attribute : node.attributes) {
      if (cudnn_numbers::IsOfTensor(attribute.name) && !sized) continue;
      w.Add(attribute.name).Add(attribute.type).Add(attribute.elements);
      w.Add(attribute.nodes.size());
      for (const std::uint32_t index : attribute.nodes) w.Add(index);
    }
  }
}

void Write(const DnnGraph& g, bool sized, Writer& w) {
  w.Add(g.tensors.size());
  for (const DnnTensor& t : g.tensors) {
    w.Add(t.uid).Add(t.type).Add(t.is_virtual != 0).Add(t.rank);
    if (sized) w.Add(t.Dims()).Add(t.Strides());
  }
  w.Add(g.operations.size());
  for (const DnnOperation& o : g.operations) {
    w.Add(o.kind).Add(o.mode).Add(o.phase).Add(o.Inputs()).Add(o.Outputs());
    w.Add(o.Pads()).Add(o.Strides()).Add(o.Dilations());
    // Marked, so that it is not taken for the next operation.
    if (!std::ranges::equal(o.PostPads(), o.Pads())) w.Add(~std::uint64_t{0}).Add(o.PostPads());
  }
  Write(g.nodes, sized, w);
  if (g.WithoutTensorCores()) w.Add(true);  // Else as keys were before.
}

// Profiles count from the unspecified kind on.
std::uint32_t KeyOf(workload::CopyKind kind) {
  return kind == workload::CopyKind::kUnspecified ? 0 : static_cast<std::uint32_t>(kind) + 1;
}

void Write(const Copy& c, bool sized, Writer& w) {
  w.Add(KeyOf(c.kind));
  WriteFields(c, {Key::kFlag}, w);
  w.Add(c.row_bytes == c.bytes);
  if (sized) WriteFields(c, {Key::kSize}, w);
}

void Write(const LibraryCall& c, bool sized, Writer& w) {
  w.Add(c.name);
  WriteFields<workload::Library>(c, {Key::kShape}, w);
  if (!sized) return;
  WriteFields<workload::Library>(c, {Key::kSize}, w);
  w.Add(c.numbers);
}

std::string Bytes(const WorkItem& item, bool sized) {
  Writer writer;
  writer.Add(kSchema).Add(sized).Add(item.index());
  std::visit([&](const auto& work) { Write(work, sized, writer); }, item);
  return writer.Take();
}

}  // namespace

std::string CanonicalBytes(const WorkItem& item) { return Bytes(item, true); }

base::Digest WorkKey(const WorkItem& item) {
  const std::string bytes = Bytes(item, true);
  return base::Hash128(bytes.data(), bytes.size());
}

base::Digest ClassKey(const WorkItem& item) {
  const std::string bytes = Bytes(item, false);
  return base::Hash128(bytes.data(), bytes.size());
}

}  // namespace eidolon::timing::kernel
