// A job may set NCCL's variables, and a silent difference from NCCL would be worse than a failed
// start: a word that NCCL does not know is an error here, and a variable that would change a
// duration without a model of it is reported. All other NCCL_ variables drive real hardware and
// have no effect. The grammar of NCCL_ALGO and NCCL_PROTO is NCCL's own: a list for all functions
// may only come first.
#include "services/network/collective/tuning.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::network::collective {
namespace {

using base::ErrorCode;
using base::Fail;
using base::Result;
using base::StrCat;

struct Word {
  std::string_view name;
  std::uint32_t value;
};

template <typename Enum>
constexpr std::uint32_t At(Enum value) {
  return static_cast<std::uint32_t>(value);
}

constexpr Word kAlgorithmWords[] = {{"tree", At(Algorithm::kTree)},
                                    {"ring", At(Algorithm::kRing)},
                                    {"collnetdirect", At(Algorithm::kCollNetDirect)},
                                    {"collnetchain", At(Algorithm::kCollNetChain)},
                                    {"nvls", At(Algorithm::kNvls)},
                                    {"nvlstree", At(Algorithm::kNvlsTree)},
                                    {"pat", At(Algorithm::kPat)}};
constexpr Word kProtocolWords[] = {
    {"ll", At(Protocol::kLl)}, {"ll128", At(Protocol::kLl128)}, {"simple", At(Protocol::kSimple)}};
constexpr Word kFunctions[] = {{"broadcast", At(Kind::kBroadcast)},
                               {"reduce", At(Kind::kReduce)},
                               {"allgather", At(Kind::kAllGather)},
                               {"reducescatter", At(Kind::kReduceScatter)},
                               {"allreduce", At(Kind::kAllReduce)}};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& character : lower) {
    character = static_cast<char>(std::tolower(static_cast<unsigned char>(character)));
  }
  return lower;
}

std::optional<std::uint32_t> Find(std::span<const Word> words, std::string_view text) {
  const std::string lower = Lower(text);
  for (const Word& word : words) {
    if (word.name == lower) return word.value;
  }
  return std::nullopt;
}

// "ring,tree", or "^ll128": all but the named ones.
Result<std::uint32_t> ParseMask(std::span<const Word> words, std::string_view list) {
  const bool inverted = list.starts_with('^');
  if (inverted) list.remove_prefix(1);
  std::uint32_t mask = 0;
  for (std::string_view item : base::Split(list, ',')) {
    if (item.empty()) continue;
    const auto value = Find(words, item);
    if (!value) return Fail(ErrorCode::kInvalidArgument, StrCat("'", item, "' is unknown"));
    mask |= 1u << *value;
  }
  return inverted ? ~mask : mask;
}

// NCCL's grammar: a list for all functions, then "function:list", separated by semicolons.
Result<void> ParseLists(std::span<const Word> words, std::string_view text, Tuning& tuning,
                        std::uint32_t Allowed::*field) {
  bool first = true;
  for (std::string_view entry : base::Split(text, ';')) {
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos && !first) {
      return Fail(ErrorCode::kInvalidArgument,
                  StrCat("'", entry, "' names no function, which only the first entry may"));
    }
    const std::string_view list = colon == std::string_view::npos ? entry : entry.substr(colon + 1);
    auto mask = ParseMask(words, list);
    if (!mask) return std::unexpected(mask.error());
    if (colon == std::string_view::npos) {
      for (Allowed& allowed : tuning.allowed) allowed.*field = *mask;
    } else {
      const auto kind = Find(kFunctions, entry.substr(0, colon));
      if (!kind) {
        return Fail(ErrorCode::kInvalidArgument,
                    StrCat("function '", entry.substr(0, colon), "' is unknown"));
      }
      tuning.allowed[*kind].*field = *mask;
    }
    first = false;
  }
  return {};
}

Result<std::uint64_t> ParseCount(std::string_view text, std::int64_t least, std::int64_t most) {
  const auto value = base::ParseInteger(text);
  if (!value || *value < least || *value > most) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("it must be a number between ", least, " and ", most));
  }
  return static_cast<std::uint64_t>(*value);
}

// Variables that would change a duration in ways the model does not know.
constexpr std::string_view kUnmodelled[] = {"NCCL_CROSS_NIC",         "NCCL_IB_ADAPTIVE_ROUTING",
                                            "NCCL_IB_DISABLE",        "NCCL_IB_HCA",
                                            "NCCL_LL128_NTHREADS",    "NCCL_NCHANNELS_PER_NET_PEER",
                                            "NCCL_NET_GDR_LEVEL",     "NCCL_NTHREADS",
                                            "NCCL_NVB_DISABLE",       "NCCL_NVLS_CHUNKSIZE",
                                            "NCCL_NVLS_NCHANNELS",    "NCCL_P2P_DISABLE",
                                            "NCCL_P2P_LEVEL",         "NCCL_SHM_DISABLE",
                                            "NCCL_THREAD_THRESHOLDS", "NCCL_TOPO_FILE",
                                            "NCCL_TUNER_PLUGIN"};

Result<void> ParseOne(const std::string& name, const std::string& value, Tuning& tuning) {
  if (name == "NCCL_ALGO") return ParseLists(kAlgorithmWords, value, tuning, &Allowed::algorithms);
  if (name == "NCCL_PROTO") return ParseLists(kProtocolWords, value, tuning, &Allowed::protocols);
  struct Number {
    std::string_view name;
    std::int64_t most;
  };
  constexpr Number kNumbers[] = {
      {"NCCL_MIN_NCHANNELS", 64}, {"NCCL_MIN_CTAS", 64},   {"NCCL_MAX_NCHANNELS", 1024},
      {"NCCL_MAX_CTAS", 1024},    {"NCCL_NVLS_ENABLE", 2}, {"NCCL_COLLNET_ENABLE", 1},
      {"NCCL_PAT_ENABLE", 2},     {"NCCL_PXN_DISABLE", 1}, {"NCCL_BUFFSIZE", 1 << 30}};
  const auto* number = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                    [&](const Number& known) { return known.name == name; });
  if (number == std::end(kNumbers)) {
    const bool missed =
        std::find(std::begin(kUnmodelled), std::end(kUnmodelled), name) != std::end(kUnmodelled);
    if (missed) tuning.unmodelled.push_back(StrCat(name, "=", value));
    return {};
  }
  const auto count = ParseCount(value, 0, number->most);
  if (!count) return std::unexpected(count.error());
  const auto small = static_cast<std::uint32_t>(*count);
  if (name == "NCCL_MIN_NCHANNELS" || name == "NCCL_MIN_CTAS") tuning.channels_min = small;
  if (name == "NCCL_MAX_NCHANNELS" || name == "NCCL_MAX_CTAS") {
    tuning.channels_max = std::max(1u, small);
  }
  if (name == "NCCL_NVLS_ENABLE") tuning.nvls = small != 0;
  if (name == "NCCL_COLLNET_ENABLE") tuning.collnet = small != 0;
  if (name == "NCCL_PAT_ENABLE") tuning.pat = small != 0;
  if (name == "NCCL_PXN_DISABLE") tuning.pxn = small == 0;
  if (name == "NCCL_BUFFSIZE") tuning.buffer_bytes = std::max<std::uint64_t>(*count, 1 << 10);
  return {};
}

}  // namespace

Result<Tuning> ParseTuning(const std::map<std::string, std::string>& environment) {
  Tuning tuning;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("NCCL_") || value.empty()) continue;
    if (auto parsed = ParseOne(name, value, tuning); !parsed) {
      return base::Wrap(StrCat(name, "='", value, "'"), parsed.error());
    }
  }
  return tuning;
}

}  // namespace eidolon::network::collective
