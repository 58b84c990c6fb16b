// Demangling is slow and a kernel is launched thousands of times, so each name is made once and
// slices refer to it. Maps keep references valid when they grow. Parameters are cut off the end of
// a demangled name by counting parentheses backward, since the name itself may hold some:
// "(anonymous namespace)".
#include "services/agent/timeline/names.h"

#include <array>
#include <cctype>
#include <optional>

#include "services/base/demangle.h"
#include "services/base/text.h"
#include "services/contract/operator_name/operator_name.h"

namespace eidolon::agent::timeline {

using base::StrCat;

namespace {

constexpr std::array<std::string_view, 8> kCallNames = {"launch",
                                                        "cudaGraphLaunch",
                                                        "NCCL call",
                                                        "cudaLaunchHostFunc",
                                                        "cudaStreamSynchronize",
                                                        "cudaDeviceSynchronize",
                                                        "cudaEventSynchronize",
                                                        "sleep"};

std::string Triple(const std::array<std::uint32_t, 3>& numbers) {
  return StrCat(numbers[0], ",", numbers[1], ",", numbers[2]);
}

// Without "(int, float*)" at the end; a parenthesis within belongs to the name.
std::string WithoutParameters(std::string name) {
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (std::size_t at = name.size(); at-- > 0;) {
    depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
    if (depth == 0) return at == 0 ? name : name.substr(0, at);
  }
  return name;
}

}  // namespace

std::string_view Name(HostCall call) { return kCallNames[static_cast<std::size_t>(call)]; }

std::string CollectiveName(std::string_view kind) {
  static constexpr std::string_view kPrefix = "COLLECTIVE_KIND_";
  if (!kind.starts_with(kPrefix)) return std::string(kind);
  kind.remove_prefix(kPrefix.size());
  if (kind == "POINT_TO_POINT") return "ncclSend, ncclRecv";
  std::string name = "nccl";
  for (const std::string_view word : base::Split(kind, '_')) {
    for (std::size_t i = 0; i < word.size(); ++i) {
      const auto c = static_cast<unsigned char>(word[i]);
      name += static_cast<char>(i == 0 ? c : std::tolower(c));
    }
  }
  return name;
}

std::string KernelName(const std::string& symbol) {
  const std::optional<std::string> demangled = base::Demangle(symbol);
  if (!demangled) return symbol.substr(0, base::kMangledMax);
  std::string name = WithoutParameters(*demangled);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

const std::string& Names::NameOf(std::uint32_t number) {
  const auto [found, is_new] = names_.try_emplace(number);
  if (is_new) found->second = CollectiveName(plain_(costs_->name(number)));
  return found->second;
}

const Names::Work& Names::WorkOf(const Operation& operation) {
  const auto [found, is_new] = works_.try_emplace(operation.tag);
  Work& work = found->second;
  if (!is_new) return work;
  const cost::CostEntry& entry = costs_->entry(operation.tag);
  const std::string& symbol = costs_->name(entry.name);
  work.category = "kernel";
  work.call = "library call";
  if (entry.shown.grid[0] > 0) {
    work.grid = Triple(entry.shown.grid);
    work.block = Triple(entry.shown.block);
    work.full = plain_(symbol);
    work.call = "cudaLaunchKernel";
  } else if (entry.shown.is_copy) {
    work.category = "copy";
    work.call = symbol == "memset" ? "cudaMemsetAsync" : "cudaMemcpyAsync";
  }
  work.function = plain_(KernelName(symbol));
  const std::string known = operator_name::OperatorOf(work.function);
  work.name = known.empty() ? work.function : known;
  return work;
}

}  // namespace eidolon::agent::timeline
