// A model file is a table of fields, each with its unit and range, and so is this reader: a key
// that is not in the table is an error with the nearest name, and a key that is missing is one
// unless it has a stated default. Defaults that refer to other keys (graph_gap to launch_gap and so
// on) are applied in the order of the table, hence a key must stand behind the one that it falls
// back to. Checks across fields follow at the end.
#include "services/timing/gpu_model/gpu_model.h"

#include <yaml-cpp/yaml.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "services/base/text.h"
#include "services/base/yaml/bounded.h"
#include "services/contract/machine/machine.h"
#include "services/timing/gpu_model/quantity.h"

namespace eidolon::timing::gpu_model {
namespace {

using base::ErrorCode;
using base::Result;
using base::StrCat;

constexpr yaml::Bounds kBounds = {.text_bytes_max = 64u << 10, .depth_max = 16, .values_max = 5000};

// The keys that may be missing.
constexpr const char* kGraphGap = "graph_gap";
constexpr const char* kGemmGraphGap = "gemm_graph_gap";
constexpr const char* kEmptyKernel = "empty_kernel";
constexpr const char* kFixedDurations = "fixed_durations";
constexpr const char* kPower = "power";

// One key of the file: its name and how its value enters the model.
struct Field {
  std::string key;
  std::function<Result<void>(const YAML::Node&, GpuModel&)> read;
};

Result<std::string> Scalar(const YAML::Node& node) {
  if (!node.IsScalar())
    return base::Fail(ErrorCode::kInvalidArgument, "a single value is expected");
  return node.Scalar();
}

Field Text(std::string key, std::string GpuModel::*member) {
  return {std::move(key), [member](const YAML::Node& node, GpuModel& model) -> Result<void> {
            auto text = Scalar(node);
            if (!text) return std::unexpected(text.error());
            if (text->empty() || text->size() > 128) {
              return base::Fail(ErrorCode::kInvalidArgument, "1 to 128 characters are expected");
            }
            model.*member = *text;
            return {};
          }};
}

template <typename T>
Field Number(std::string key, Dimension dimension, T GpuModel::*member, double min = 0) {
  return {std::move(key),
          [dimension, member, min](const YAML::Node& node, GpuModel& model) -> Result<void> {
            auto text = Scalar(node);
            if (!text) return std::unexpected(text.error());
            const auto value = ParseQuantity(*text, dimension);
            if (!value) return std::unexpected(value.error());
            const double max = static_cast<double>(std::numeric_limits<T>::max());
            if (*value < min || *value >= max) {
              return base::Fail(ErrorCode::kInvalidArgument,
                                StrCat("'", *text, "' is out of range, at least ", min));
            }
            model.*member = static_cast<T>(std::is_integral_v<T> ? std::round(*value) : *value);
            return {};
          }};
}

Field Time(std::string key, base::Duration GpuModel::*member) {
  return {std::move(key), [member](const YAML::Node& node, GpuModel& model) -> Result<void> {
            auto text = Scalar(node);
            if (!text) return std::unexpected(text.error());
            const auto value = ParseQuantity(*text, Dimension::kTime);
            if (!value) return std::unexpected(value.error());
            if (*value < 0 || *value > 1) {
              return base::Fail(ErrorCode::kInvalidArgument,
                                StrCat("'", *text, "' is not between 0 and 1 s"));
            }
            model.*member = base::Duration::FromSeconds(*value);
            return {};
          }};
}

Result<void> ReadCapability(const YAML::Node& node, GpuModel& model) {
  auto text = Scalar(node);
  if (!text) return std::unexpected(text.error());
  const auto parts = base::Split(*text, '.');
  const auto major = parts.size() == 2 ? base::ParseInteger(parts[0]) : std::nullopt;
  const auto minor = parts.size() == 2 ? base::ParseInteger(parts[1]) : std::nullopt;
  if (!major || !minor || *major < 7 || *major > 15 || *minor < 0 || *minor > 9) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("'", *text, "' is not a compute capability like 9.0"));
  }
  model.compute_major = static_cast<std::uint32_t>(*major);
  model.compute_minor = static_cast<std::uint32_t>(*minor);
  return {};
}

const std::vector<std::string>& TypeNames() {
  static const std::vector<std::string> names = {"fp64", "fp64_tensor", "fp32", "tf32", "bf16",
                                                 "fp16", "fp8",         "fp4",  "int8"};
  return names;
}

Field Rates(std::string key, std::map<std::string, double> GpuModel::*member) {
  return {std::move(key), [member](const YAML::Node& node, GpuModel& model) -> Result<void> {
            if (!node.IsMap()) {
              return base::Fail(ErrorCode::kInvalidArgument, "a map of type to rate is expected");
            }
            for (const auto& entry : node) {
              const std::string type = entry.first.IsScalar() ? entry.first.Scalar() : "";
              if (std::find(TypeNames().begin(), TypeNames().end(), type) == TypeNames().end()) {
                return base::Fail(
                    ErrorCode::kInvalidArgument,
                    StrCat("unknown type '", type, "'; known are ", base::Join(TypeNames(), ", ")));
              }
              auto text = Scalar(entry.second);
              if (!text) return base::Wrap(type, text.error());
              const auto value = ParseQuantity(*text, Dimension::kFlops);
              if (!value) return base::Wrap(type, value.error());
              if (*value <= 0 || !(model.*member).emplace(type, *value).second) {
                return base::Fail(ErrorCode::kInvalidArgument,
                                  StrCat(type, ": one rate above zero is expected"));
              }
            }
            return {};
          }};
}

// One key of fixed_durations.
struct FixedKey {
  std::string key;
  base::Duration FixedDurations::*time = nullptr;
  std::uint64_t FixedDurations::*rate = nullptr;  // Without a time.
  Dimension dimension = Dimension::kTime;
};

const std::vector<FixedKey>& FixedKeys() {
  using F = FixedDurations;
  static const std::vector<FixedKey> keys = {
      {.key = "work", .time = &F::work},
      {.key = "wave", .time = &F::wave},
      {.key = "operations", .rate = &F::operations_per_second, .dimension = Dimension::kFlops},
      {.key = "bytes", .rate = &F::bytes_per_second, .dimension = Dimension::kBytesPerSecond},
      {.key = "host_call", .time = &F::host_call},
      {.key = "host_operator", .time = &F::host_operator},
      {.key = "transfer", .time = &F::transfer},
      {.key = "transfer_bytes",
       .rate = &F::transfer_bytes_per_second,
       .dimension = Dimension::kBytesPerSecond}};
  return keys;
}

Result<void> ReadFixedKey(const FixedKey& key, const YAML::Node& node, FixedDurations& fixed) {
  if (!node) return base::Fail(ErrorCode::kInvalidArgument, "is missing");
  auto text = Scalar(node);
  if (!text) return std::unexpected(text.error());
  const auto value = ParseQuantity(*text, key.dimension);
  if (!value) return std::unexpected(value.error());
  const double max = key.time != nullptr ? 1 : 1e18;
  if (*value <= 0 || *value > max) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("'", *text, "' is out of range, above 0 and at most ", max));
  }
  if (key.time != nullptr) {
    fixed.*key.time = base::Duration::FromSeconds(*value);
  } else {
    fixed.*key.rate = static_cast<std::uint64_t>(std::round(*value));
  }
  return {};
}

Result<void> ReadFixed(const YAML::Node& node, GpuModel& model) {
  const auto& keys = FixedKeys();
  if (!node.IsMap() || node.size() != keys.size()) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("a map of ", keys.size(), " keys is expected"));
  }
  model.fixed.emplace();
  for (const FixedKey& key : keys) {
    if (auto read = ReadFixedKey(key, node[key.key], *model.fixed); !read) {
      return base::Wrap(key.key, read.error());
    }
  }
  return {};
}

// One key of power.
struct PowerKey {
  std::string key;
  double PowerFacts::*member;
  Dimension dimension = Dimension::kPower;
  bool is_optional = false;
};

const std::vector<PowerKey>& PowerKeys() {
  using P = PowerFacts;
  static const std::vector<PowerKey> keys = {
      {.key = "floor", .member = &P::floor_watts},
      {.key = "held", .member = &P::held_share, .dimension = Dimension::kCount},
      {.key = "matrix", .member = &P::matrix_watts},
      {.key = "matrix_rate", .member = &P::matrix_rate_watts},
      {.key = "matrix_bytes", .member = &P::matrix_bytes_watts},
      {.key = "memory", .member = &P::memory_watts},
      {.key = "burst_share",
       .member = &P::burst_share,
       .dimension = Dimension::kCount,
       .is_optional = true}};
  return keys;
}

Result<void> ReadPowerKey(const PowerKey& key, const YAML::Node& node, PowerFacts& power) {
  if (!node && key.is_optional) return {};
  if (!node) return base::Fail(ErrorCode::kInvalidArgument, "is missing");
  auto text = Scalar(node);
  if (!text) return std::unexpected(text.error());
  const auto value = ParseQuantity(*text, key.dimension);
  if (!value) return std::unexpected(value.error());
  const bool is_share = key.dimension == Dimension::kCount;
  const double min = is_share ? 0.1 : 0;
  const double max = is_share ? 1 : 1e5;
  if (*value < min || *value > max) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat("'", *text, "' is out of range, ", min, " to ", max));
  }
  power.*key.member = *value;
  return {};
}

Result<void> ReadPower(const YAML::Node& node, GpuModel& model) {
  if (!node.IsMap()) return base::Fail(ErrorCode::kInvalidArgument, "a map is expected");
  model.power.emplace();
  std::size_t known = 0;
  for (const PowerKey& key : PowerKeys()) {
    if (node[key.key]) ++known;
    if (auto read = ReadPowerKey(key, node[key.key], *model.power); !read) {
      return base::Wrap(key.key, read.error());
    }
  }
  if (node.size() == known) return {};
  std::vector<std::string> keys;
  for (const PowerKey& key : PowerKeys()) keys.push_back(key.key);
  return base::Fail(ErrorCode::kInvalidArgument,
                    StrCat("an unknown key; known are ", base::Join(keys, ", ")));
}

const std::vector<Field>& Fields() {
  using D = Dimension;
  using G = GpuModel;
  static const std::vector<Field> fields = {
      Text("name", &G::name),
      Text("product_name", &G::product_name),
      {"compute_capability", ReadCapability},
      Number("multiprocessors", D::kCount, &G::multiprocessors, 1),
      Number("boost_clock", D::kFrequency, &G::boost_clock_hz, 1e6),
      Number("sustained_clock", D::kFrequency, &G::sustained_clock_hz, 1e6),
      Number("memory_clock", D::kFrequency, &G::memory_clock_hz, 1e6),
      Number("memory_bus", D::kBits, &G::memory_bus_bits, 1),
      Number("memory", D::kBytes, &G::memory_bytes, 1e9),
      Number("memory_bandwidth", D::kBytesPerSecond, &G::memory_bytes_per_second, 1e9),
      Number("attained_memory_share", D::kCount, &G::attained_memory_share, 0.1),
      Number("l2", D::kBytes, &G::l2_bytes, 1),
      Number("copy_engines", D::kCount, &G::copy_engines, 1),
      Number("max_threads_per_multiprocessor", D::kCount, &G::max_threads_per_multiprocessor, 1),
      Number("max_blocks_per_multiprocessor", D::kCount, &G::max_blocks_per_multiprocessor, 1),
      Number("registers_per_multiprocessor", D::kCount, &G::registers_per_multiprocessor, 1),
      Number("shared_per_multiprocessor", D::kBytes, &G::shared_bytes_per_multiprocessor, 1),
      Number("shared_per_block_optin", D::kBytes, &G::shared_bytes_per_block_optin, 1),
      Number("nvlink_count", D::kCount, &G::nvlink_count),
      Number("nvlink_generation", D::kCount, &G::nvlink_generation),
      Number("nvlink_bandwidth", D::kBytesPerSecond, &G::nvlink_bytes_per_second),
      Number("pcie_bandwidth", D::kBytesPerSecond, &G::pcie_bytes_per_second, 1e8),
      Number("power_limit", D::kPower, &G::power_limit_watts, 1),
      Number("context", D::kBytes, &G::context_bytes),
      Time("launch_gap", &G::launch_gap),
      Time(kGraphGap, &G::graph_gap),
      Time(kGemmGraphGap, &G::gemm_graph_gap),
      Time("launch_latency", &G::launch_latency),
      Time("kernel_floor", &G::kernel_floor),
      Time(kEmptyKernel, &G::empty_kernel),
      Number("steady_product_share", D::kCount, &G::steady_product_share, 0.1),
      Rates("peak_flops", &G::peak_flops),
      Rates("sustained_flops", &G::sustained_flops),
      {kFixedDurations, ReadFixed},
      {kPower, ReadPower},
  };
  return fields;
}

std::unexpected<base::Error> At(std::string_view file, const YAML::Mark& mark,
                                std::string_view message) {
  return base::Fail(ErrorCode::kInvalidArgument, StrCat(file, ":", mark.line + 1, ": ", message));
}

Result<void> ReadEntry(const YAML::Node& key, const YAML::Node& value, std::string_view file,
                       std::vector<bool>& seen, GpuModel& model) {
  const std::string name = key.IsScalar() ? key.Scalar() : "";
  const auto& fields = Fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].key != name) continue;
    if (seen[i]) return At(file, key.Mark(), StrCat("key '", name, "' stands twice"));
    seen[i] = true;
    if (auto done = fields[i].read(value, model); !done) {
      return At(file, key.Mark(), StrCat(name, ": ", done.error().message));
    }
    return {};
  }
  std::vector<std::string> known;
  for (const Field& field : fields) known.push_back(field.key);
  const auto nearest = base::NearestName(name, known);
  return At(file, key.Mark(),
            StrCat("unknown key '", name, "'",
                   nearest ? StrCat("; did you mean '", *nearest, "'?") : ""));
}

Result<GpuModel> Read(const YAML::Node& root, std::string_view file) {
  if (!root.IsMap()) return At(file, root.Mark(), "a map of keys to values is expected");
  GpuModel model;
  std::vector<bool> seen(Fields().size(), false);
  for (const auto& entry : root) {
    auto done = ReadEntry(entry.first, entry.second, file, seen, model);
    if (!done) return std::unexpected(done.error());
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i] && Fields()[i].key == kGraphGap) {
      model.graph_gap = model.launch_gap;
    } else if (!seen[i] && Fields()[i].key == kGemmGraphGap) {
      model.gemm_graph_gap = model.graph_gap;
    } else if (!seen[i] && Fields()[i].key == kEmptyKernel) {
      model.empty_kernel = model.kernel_floor;
    } else if (!seen[i] && Fields()[i].key != kFixedDurations && Fields()[i].key != kPower) {
      return base::Fail(ErrorCode::kInvalidArgument,
                        StrCat(file, ": key '", Fields()[i].key, "' is missing"));
    }
  }
  for (const char* type : {"fp32", "bf16"}) {
    if (!model.peak_flops.contains(type)) {
      return base::Fail(ErrorCode::kInvalidArgument,
                        StrCat(file, ": peak_flops: type '", type, "' is missing"));
    }
  }
  for (const auto& [key, share] : {std::pair{"attained_memory_share", model.attained_memory_share},
                                   std::pair{"steady_product_share", model.steady_product_share}}) {
    if (share > 1) {
      return base::Fail(ErrorCode::kInvalidArgument, StrCat(file, ": ", key, ": above 1"));
    }
  }
  if (model.power &&
      model.power->floor_watts >= model.power->held_share * model.power_limit_watts) {
    return base::Fail(ErrorCode::kInvalidArgument,
                      StrCat(file, ": power: floor: not below held x power_limit"));
  }
  if (model.fixed.has_value() != model.name.starts_with(kFixedPrefix)) {
    return base::Fail(
        ErrorCode::kInvalidArgument,
        StrCat(file, ": name: '", model.name, "': names of GPUs with ", kFixedDurations,
               ", and of no others, begin with '", kFixedPrefix, "'"));
  }
  return model;
}

}  // namespace

double KernelSeconds(const GpuModel& gpu, double work) {
  const double empty = gpu.empty_kernel.Seconds();
  const double beside = gpu.kernel_floor.Seconds() - machine::kMemoryLatencySeconds;
  return std::max(empty, std::min(beside + work, empty + 2 * work));
}

Result<GpuModel> ParseGpuModel(std::string_view text, std::string_view file) {
  if (auto within = yaml::CheckBounds(text, kBounds); !within) {
    return base::Wrap(file, within.error());
  }
  try {
    return Read(YAML::Load(std::string(text)), file);
  } catch (const YAML::Exception& error) {
    return At(file, error.mark.is_null() ? YAML::Mark{} : error.mark, error.msg);
  }
}

}  // namespace eidolon::timing::gpu_model
