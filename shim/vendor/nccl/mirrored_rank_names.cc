#include "shim/vendor/nccl/mirrored_rank_names.h"

#include "services/base/text.h"
#include "shim/pytorch/torch_groups/python_question.h"

namespace eidolon::shim::nccl {
namespace {

// Sets `answer` to "file:line" and the rank, with a line's end between them.
constexpr char kNamesCode[] = R"python(
def find():
    import ast, os, sys, sysconfig
    alive = {int(r) for r in live.split(",") if r}
    calls = {"send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list",
             "recv_object_list", "all_reduce", "all_gather", "all_gather_into_tensor",
             "all_gather_object", "reduce_scatter", "reduce_scatter_tensor", "all_to_all",
             "all_to_all_single", "broadcast", "broadcast_object_list", "reduce", "gather",
             "gather_object", "scatter", "scatter_object_list", "barrier", "monitored_barrier"}
    installed = [p for p in map(sysconfig.get_paths().get, ("stdlib", "purelib", "platlib")) if p]
    def is_rank(node):
        while isinstance(node, ast.Call):
            node = node.func
        name = getattr(node, "attr", getattr(node, "id", "")).lower()
        return "rank" in name and "local" not in name and "node" not in name
    def numbers(node):
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
        return [p.value for p in parts if isinstance(p, ast.Constant) and type(p.value) is int]
    def asked(test):
        for node in ast.walk(test):
            if not isinstance(node, ast.Compare) or len(node.ops) != 1:
                continue
            if isinstance(node.ops[0], (ast.Eq, ast.In)):
                left, right = node.left, node.comparators[0]
                if is_rank(left):
                    yield from numbers(right)
                elif is_rank(right):
                    yield from numbers(left)
    def communicates(node):
        found = [n.func for part in node.body for n in ast.walk(part) if isinstance(n, ast.Call)]
        return any(getattr(f, "attr", getattr(f, "id", "")) in calls for f in found)
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py"):
            continue
        path = os.path.abspath(file)
        if "-packages" in path or any(path.startswith(p + os.sep) for p in installed):
            continue
        try:
            with open(path, "rb") as source:
                tree = ast.parse(source.read())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.If, ast.While)) and communicates(node):
                for number in asked(node.test):
                    if 0 <= number < world and number not in alive:
                        return f"{file}:{node.lineno}\n{number}"
    return ""
answer = find()
)python";

}  // namespace

std::string FindMirroredByName(const std::string& live, std::uint32_t world) {
  const torch_groups::PythonValue given[] = {{.name = "live", .value = live},
                                             {.name = "world", .value = std::int64_t{world}}};
  const std::string answer = torch_groups::AskPython(kNamesCode, given);
  const std::size_t end = answer.find('\n');
  if (end == std::string::npos) return "";
  const std::string rank = answer.substr(end + 1);
  return base::StrCat(
      answer.substr(0, end), " lets rank ", rank, " communicate by its number, and rank ", rank,
      " of this folded job has no process: it is mirrored from a rank that does not "
      "do so. Make it live (--live ",
      rank, "), or run the job with --fold off");
}

}  // namespace eidolon::shim::nccl
