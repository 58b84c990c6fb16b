// Runs one program on emulated devices without any service: a test's agent answers at once, so time
// stands almost still and nothing is predicted. For probes of the shim: what a program asks for,
// and what was refused.
//
//   eidolon_lone_agent [--values] [--capability 9.0] LIBRARY_FOLDER COMMAND...
//
// --values: small kernels are run for their results. --capability: the devices' compute capability;
// nothing else about them changes.
// Ends as the program does. On stderr: records by kind, and each refused call.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "services/contract/ring/record.h"
#include "shim/core/fake_agent.h"

namespace {

namespace fs = std::filesystem;
using eidolon::ring::RecordKind;
using eidolon::shim::core::FakeAgent;

constexpr int kUsageExit = 64;
constexpr int kSignalExit = 128;

void AppendLibraries(const fs::path& folder, std::vector<std::string>* libraries) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  libraries->insert(libraries->end(), found.begin(), found.end());
}

// Returns the libraries to preload: those that must answer before the core, the core, then the
// facades by name.
std::string Preload(const fs::path& folder) {
  std::vector<std::string> libraries;
  AppendLibraries(folder / "eidolon" / "first", &libraries);
  libraries.push_back((folder / "libeidolon_shim.so").string());
  AppendLibraries(folder / "eidolon", &libraries);
  std::string preload;
  for (const std::string& library : libraries) preload += (preload.empty() ? "" : ":") + library;
  return preload;
}

// The program's exit code; as shells say it when a signal ended the program.
int Run(const fs::path& folder, char** command) {
  const std::string preload = Preload(folder);
  const pid_t child = fork();
  if (child == 0) {
    setenv("LD_PRELOAD", preload.c_str(), 1);
    setenv("TRITON_LIBCUDA_PATH", (folder / "eidolon" / "triton").c_str(), 1);
    setenv("NVTX_INJECTION64_PATH", (folder / "libeidolon_shim.so").c_str(), 1);
    execvp(command[0], command);
    std::perror(command[0]);
    _exit(kUsageExit);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return kUsageExit;
  return WIFSIGNALED(status) ? kSignalExit + WTERMSIG(status) : WEXITSTATUS(status);
}

void Report(FakeAgent& agent) {
  std::map<RecordKind, int> counts;
  for (const FakeAgent::Record& record : agent.Records()) {
    ++counts[record.kind()];
    if (record.kind() != RecordKind::kRefusedCall) continue;
    const auto& mark = record.As<eidolon::ring::MarkRecord>();
    const auto* name = reinterpret_cast<const char*>(record.bytes.data() + sizeof(mark));
    std::fprintf(stderr, "refused %.*s\n", static_cast<int>(mark.name_bytes), name);
  }
  for (const auto& [kind, count] : counts) {
    std::fprintf(stderr, "records of kind %u: %d\n", static_cast<unsigned>(kind), count);
  }
}

}  // namespace

int main(int argc, char** argv) {
  FakeAgent::Options options;
  bool good = true;
  while (good && argc > 1 && argv[1][0] == '-') {
    const std::string_view option = argv[1];
    options.compute_values = options.compute_values || option == "--values";
    const bool capability = option == "--capability" && argc > 2;
    if (capability) {
      good = std::sscanf(argv[2], "%u.%u", &options.compute_major, &options.compute_minor) == 2;
    }
    good = good && (capability || option == "--values");
    argv += capability ? 2 : 1;
    argc -= capability ? 2 : 1;
  }
  if (!good || argc < 3) {
    std::fprintf(stderr,
                 "usage: eidolon_lone_agent [--values] [--capability 9.0] LIBRARY_FOLDER "
                 "COMMAND...\n");
    return kUsageExit;
  }
  FakeAgent& agent = FakeAgent::Start(options);
  const int code = Run(fs::absolute(argv[1]), argv + 2);
  Report(agent);
  return code;
}
