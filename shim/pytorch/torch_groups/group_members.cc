#include "shim/pytorch/torch_groups/group_members.h"

#include <charconv>

#include "services/base/text.h"
#include "shim/pytorch/torch_groups/python_question.h"

namespace eidolon::shim::torch_groups {
namespace {

using base::StrCat;

// Sets `answer` to the members' ranks with blanks between them. Registered groups are found by
// name; one that is being made stands in the locals of the function that makes it; without a name,
// all groups in which this process has the rank and that have the size must have the same members.
constexpr char kMembersCode[] = R"python(
def find():
    import sys
    module = sys.modules.get("torch.distributed.distributed_c10d")
    if module is None:
        return None
    def fits(ranks):
        return bool(ranks) and len(ranks) > rank and size in (0, len(ranks))
    world = getattr(module, "_world", None)
    known = []
    for group, ranks in list(getattr(world, "pg_group_ranks", {}).items()):
        ordered = sorted(ranks, key=ranks.get)
        if fits(ordered):
            known.append((getattr(world, "pg_names", {}).get(group), ordered))
    for known_name, ordered in known:
        if name and known_name == name:
            return ordered
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "_new_process_group_helper":
            ranks = frame.f_locals.get("global_ranks_in_group")
            if fits(ranks) and (not name or frame.f_locals.get("group_name") == name):
                return sorted(ranks)
        if frame.f_code.co_name == "split_group":
            names = frame.f_locals
            ranks = [names["parent_group_to_global_ranks"][r] for r in names.get("my_group", ())]
            if fits(ranks):
                return sorted(ranks)
        frame = frame.f_back
    alike = {tuple(ordered) for _, ordered in known if size == len(ordered)}
    return list(alike.pop()) if len(alike) == 1 else None
answer = " ".join(str(int(r)) for r in find() or [])
)python";

std::vector<std::uint32_t> Numbers(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  for (const std::string_view word : base::Split(text, ' ')) {
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && end == word.data() + word.size()) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

base::Result<std::vector<folding::RankRun>> MembersOf(const GroupEntry& entry) {
  if (entry.size == entry.world) return std::vector{folding::RankRun{0, 1, entry.world}};
  const PythonValue given[] = {
      {.name = "name", .value = std::string(entry.name)},
      {.name = "size", .value = std::int64_t{entry.size}},
      {.name = "rank", .value = std::int64_t{entry.rank}},
  };
  const std::vector<std::uint32_t> ranks = Numbers(AskPython(kMembersCode, given));
  auto runs = folding::RunsOf(ranks);
  const auto checked = folding::RanksOf(runs, entry.world);
  if (ranks.empty() || !checked) {
    return base::Fail(
        base::ErrorCode::kUnsupported,
        StrCat("the job is folded, and torch.distributed does not say which ranks the group ",
               entry.name.empty() ? "without a name" : StrCat("'", entry.name, "'"), " of ",
               entry.size == 0 ? std::string("a split") : StrCat(entry.size, " ranks"),
               " has; run this job without folding"));
  }
  return runs;
}

}  // namespace eidolon::shim::torch_groups
