#include "shim/nccl/group_members.h"

#include <dlfcn.h>

#include <charconv>

#include "services/base/text.h"

namespace eidolon::shim::nccl {
namespace {

using base::StrCat;

// The parts of CPython's C API that are used, as it declares them.
struct Python {
  int (*is_initialized)() = nullptr;
  int (*lock)() = nullptr;
  void (*unlock)(int) = nullptr;
  void* (*new_dictionary)() = nullptr;
  int (*set_item)(void* dictionary, const char* key, void* value) = nullptr;
  void* (*item)(void* dictionary, const char* key) = nullptr;  // Borrowed.
  void* (*text)(const char* text, std::ptrdiff_t bytes) = nullptr;
  void* (*number)(long long value) = nullptr;
  const char* (*bytes_of)(void* text, std::ptrdiff_t* bytes) = nullptr;
  void* (*run)(const char* code, int start, void* globals, void* locals) = nullptr;
  void (*release)(void* object) = nullptr;
  void (*clear_error)() = nullptr;
};

template <typename Function>
bool Find(const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

const Python* FindPython() {
  static const Python* const found = [] -> const Python* {
    static Python python;
    const bool complete =
        Find("Py_IsInitialized", python.is_initialized) && Find("PyGILState_Ensure", python.lock) &&
        Find("PyGILState_Release", python.unlock) && Find("PyDict_New", python.new_dictionary) &&
        Find("PyDict_SetItemString", python.set_item) &&
        Find("PyDict_GetItemString", python.item) &&
        Find("PyUnicode_FromStringAndSize", python.text) &&
        Find("PyLong_FromLongLong", python.number) &&
        Find("PyUnicode_AsUTF8AndSize", python.bytes_of) && Find("PyRun_String", python.run) &&
        Find("Py_DecRef", python.release) && Find("PyErr_Clear", python.clear_error);
    return complete ? &python : nullptr;
  }();
  return found != nullptr && found->is_initialized() != 0 ? found : nullptr;
}

constexpr int kFileInput = 257;  // Py_file_input.

// Sets `answer` to the members' ranks with blanks between them. Registered groups are found by
// name; one that is being made stands in the locals of the function that makes it; without a name,
// all groups in which this process has the rank and that have the size must have the same members.
constexpr char kCode[] = R"python(
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

std::string Ask(const Python& python, const GroupEntry& entry) {
  const int state = python.lock();
  std::string answer;
  void* const globals = python.new_dictionary();
  const auto give = [&](const char* key, void* value) {
    if (value == nullptr) return;
    python.set_item(globals, key, value);
    python.release(value);
  };
  give("name", python.text(entry.name.data(), static_cast<std::ptrdiff_t>(entry.name.size())));
  give("size", python.number(entry.size));
  give("rank", python.number(entry.rank));
  void* const done = python.run(kCode, kFileInput, globals, globals);
  if (done != nullptr) {
    python.release(done);
    std::ptrdiff_t bytes = 0;
    void* const text = python.item(globals, "answer");
    const char* const said = text == nullptr ? nullptr : python.bytes_of(text, &bytes);
    if (said != nullptr) answer.assign(said, static_cast<std::size_t>(bytes));
  }
  python.clear_error();
  python.release(globals);
  python.unlock(state);
  return answer;
}

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
  const Python* const python = FindPython();
  std::vector<std::uint32_t> ranks;
  if (python != nullptr) ranks = Numbers(Ask(*python, entry));
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

}  // namespace eidolon::shim::nccl
