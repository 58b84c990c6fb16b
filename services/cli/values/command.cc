// The machine code to explain comes from the user's torch, so its library is found by asking
// python3 without importing torch, which takes long. The check replaces this process (exec) by the
// agent that runs a single program, so its exit status and signals are the check's own. That agent
// and the script are parts of the build and source trees, so `check` works there only.
#include "services/cli/values/command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/cli/values/explain.h"

namespace eidolon::cli::values {
namespace {

using base::StrCat;

struct CheckFlags {
  std::string python = "python3";
  std::string script;
  std::string capability = "9.0";
  std::vector<std::string> rest;
};

constexpr char kAskLibrary[] =
    "python3 -c \"import importlib.util as u, os; s = u.find_spec('torch'); "
    "print(os.path.join(os.path.dirname(s.origin), 'lib', 'libtorch_cuda.so'), end='')\" "
    "2>/dev/null";

std::string TorchLibrary() {
  std::string path;
  if (std::FILE* python = popen(kAskLibrary, "r")) {
    char line[4096];
    if (std::fgets(line, sizeof(line), python) != nullptr) path = line;
    pclose(python);
  }
  return path;
}

int RunExplain(ExplainOptions options, const std::string& device) {
  char end = 0;
  if (std::sscanf(device.c_str(), "%2u.%1u%c", &options.device.major, &options.device.minor,
                  &end) != 2) {
    std::fputs("eidolon: --capability is a compute capability such as 8.0\n", stderr);
    return 1;
  }
  if (options.file.empty()) options.file = TorchLibrary();
  if (options.file.empty()) {
    std::fputs("eidolon: python3 has no torch; name a file with --file\n", stderr);
    return 1;
  }
  const auto text = Explain(options);
  if (!text) {
    std::fprintf(stderr, "eidolon: %s\n", text.error().message.c_str());
    return 1;
  }
  base::Print(*text);
  return 0;
}

// The check is a program of stock PyTorch, run under the shim with nobody else there.
int RunCheck(const std::string& programs, const CheckFlags& flags) {
  const std::string agent = programs + "/../probes/eidolon_lone_agent";
  std::vector<std::string> words = {
      agent,        "--values", "--capability", flags.capability, programs + "/../lib",
      flags.python, "-B",       flags.script};
  words.insert(words.end(), flags.rest.begin(), flags.rest.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv("EIDOLON_TRACE_VALUES", "1", 1);
  execv(agent.c_str(), arguments.data());
  std::fprintf(stderr, "eidolon: cannot run %s; build target eidolon_lone_agent\n", agent.c_str());
  return 1;
}

}  // namespace

void AddCommands(CLI::App* app, const char* programs, std::function<int()>* action) {
  CLI::App* values = app->add_subcommand("values", "what kernels compute on the emulated GPU");
  values->require_subcommand(1);

  auto explain = std::make_shared<ExplainOptions>();
  CLI::App* one = values->add_subcommand(
      "explain", "a kernel's parameters, machine code, and whether it can be run");
  one->add_option("kernel", explain->pattern, "a part of its mangled name")->required();
  one->add_option("--file", explain->file,
                  "library, fat binary or cubin; default: libtorch_cuda.so of python3's torch");
  one->add_flag("!--no-code", explain->code, "without the disassembly");
  auto device = std::make_shared<std::string>("9.0");
  one->add_option("--capability", *device, "of the GPU whose code is taken from a library")
      ->capture_default_str();
  one->callback([explain, device, action] {
    *action = [explain, device] { return RunExplain(*explain, *device); };
  });

  auto check = std::make_shared<CheckFlags>();
  check->script = EIDOLON_SOURCE_DIR "/e2e/values/check.py";
  CLI::App* all = values->add_subcommand(
      "check", "compare PyTorch's operators with the CPU, sample by sample; minutes to an hour");
  all->add_option("--python", check->python, "a Python with stock torch")->capture_default_str();
  all->add_option("--script", check->script, "the program that compares")->capture_default_str();
  all->add_option("--capability", check->capability, "compute capability of the emulated GPU")
      ->capture_default_str();
  all->add_option("options", check->rest, "its options, behind --: -- --dtypes float32 --ops add");
  all->callback([check, directory = std::string(programs), action] {
    *action = [check, directory] { return RunCheck(directory, *check); };
  });
}

}  // namespace eidolon::cli::values
