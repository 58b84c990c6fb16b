// Most checks try what a job will do: an anonymous file is made and sized, 4 TiB of addresses are
// reserved as the shim reserves them. Torch is not imported, which takes long: its file version.py
// has the answer. A missing thing without which no job runs is bad; one that slows jobs down or
// limits their size is a warning and leaves the exit status at 0. The text of a finding says what
// to do. Judging torch's answer is separate from asking, so that tests need no torch.
#include "services/cli/doctor.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "services/base/host_speed/probe.h"
#include "services/base/text.h"
#include "services/cli/client.h"
#include "services/controller/job/status.h"

namespace eidolon::cli {
namespace {

using base::StrCat;
using controller::job::FormatBytes;
namespace fs = std::filesystem;

constexpr rlim_t kFilesWanted = 4096;
constexpr rlim_t kProcessesWanted = 4096;
constexpr std::uint64_t kDiskWanted = 2ull << 30;
constexpr std::uint64_t kMemoryPerRank = 300ull << 20;
constexpr std::array<std::string_view, 2> kSupportedCuda = {"12", "13"};

// torch's version and the CUDA version it was built for, from the wheel's files: importing torch
// takes seconds.
constexpr char kAskTorch[] =
    "python3 -c \""
    "import importlib.util as u, os, runpy; s = u.find_spec('torch'); "
    "v = runpy.run_path(os.path.join(os.path.dirname(s.origin), 'version.py')); "
    "print(v['__version__'], v['cuda'], sep='|')\" 2>/dev/null";

Finding Good(std::string subject, std::string text) {
  return {Health::kGood, std::move(subject), std::move(text)};
}
Finding Warning(std::string subject, std::string text) {
  return {Health::kWarning, std::move(subject), std::move(text)};
}
Finding Bad(std::string subject, std::string text) {
  return {Health::kBad, std::move(subject), std::move(text)};
}

Finding ExaminePrograms(const std::string& binaries) {
  const std::string agent = binaries + "/eidolon-agent";
  if (access(agent.c_str(), X_OK) != 0) {
    return Bad("agent", agent + " is missing; build target eidolon-agent");
  }
  return Good("agent", agent);
}

Finding ExamineShim(const std::string& binaries) {
  const std::string core = fs::path(binaries + "/../lib/libeidolon_shim.so").lexically_normal();
  if (access(core.c_str(), R_OK) != 0) {
    return Bad("shim", core + " is missing; build targets eidolon_shim and eidolon_facades");
  }
  std::size_t facades = 0;
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator(fs::path(core).parent_path() / "eidolon", ignored)) {
    facades += entry.path().extension() == ".so" ? 1 : 0;
  }
  if (facades == 0) return Bad("shim", "no facades beside " + core + "; build eidolon_facades");
  return Good("shim", StrCat(core, " and ", facades, " facades"));
}

Finding ExamineTorch() {
  std::string answer;
  if (std::FILE* python = popen(kAskTorch, "r")) {
    char line[256];
    if (std::fgets(line, sizeof line, python) != nullptr) answer = line;
    pclose(python);
  }
  while (answer.ends_with('\n')) answer.pop_back();
  return JudgeTorch(answer);
}

// Returns how fast the program's own work runs here, which the measured host model scales to the
// target.
Finding ExamineProcessor() {
  constexpr int kRuns = 50;
  constexpr double kSlow = 0.5;
  const double speed = host_speed::SpeedOf(host_speed::TimeProbe(kRuns));
  std::array<char, 160> text{};
  std::snprintf(
      text.data(), text.size(),
      "a core runs host code at %.2f of a Xeon Platinum 8480C; host time is scaled to the "
      "target's processor",
      speed);
  if (speed >= kSlow) return Good("processor", text.data());
  return Warning("processor", StrCat(text.data(),
                                     ". Less than half of it: other programs, a power "
                                     "limit or a busy hypervisor may take the rest"));
}

Finding ExamineSharedMemory() {
  const int fd = memfd_create("eidolon-doctor", MFD_CLOEXEC);
  if (fd < 0) return Bad("shared memory", "memfd_create is refused; a seccomp filter forbids it");
  const bool sized = ftruncate(fd, 64 << 20) == 0;
  close(fd);
  return sized ? Good("shared memory", "anonymous files work")
               : Bad("shared memory", "an anonymous file of 64 MiB is refused");
}

Finding ExamineLimit(int resource, const char* subject, const char* what, rlim_t wanted) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return Good(subject, StrCat("any number of ", what));
  if (limit.rlim_cur >= wanted) return Good(subject, StrCat(limit.rlim_cur, " ", what));
  return Warning(subject, StrCat("only ", limit.rlim_cur, " ", what, "; raise it with ulimit to ",
                                 wanted, " for jobs with many ranks"));
}

Finding ExamineAddressSpace() {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur != RLIM_INFINITY) {
    return Bad("address space", StrCat("limited to ", FormatBytes(limit.rlim_cur),
                                       "; emulated device memory needs 'ulimit -v unlimited'"));
  }
  // The shim does the same: it reserves and never touches.
  const std::size_t size = std::size_t{1} << 42;
  void* const reserved =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return Bad("address space", "4 TiB cannot be reserved; set vm.overcommit_memory to 0 or 1");
  }
  munmap(reserved, size);
  return Good("address space", "4 TiB can be reserved without using memory");
}

Finding ExamineMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  std::string unit;
  while (file >> name >> kilobytes >> unit) {
    if (name != "MemAvailable:") continue;
    const std::uint64_t bytes = kilobytes * 1024;
    return Good("memory", StrCat(FormatBytes(bytes), " available, enough for about ",
                                 bytes / kMemoryPerRank, " ranks before their own data"));
  }
  return Warning("memory", "/proc/meminfo cannot be read");
}

Finding ExamineDisk(const std::string& data_directory) {
  fs::path folder = data_directory;
  std::error_code ignored;
  while (!fs::exists(folder, ignored) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0 || access(folder.c_str(), W_OK) != 0) {
    return Bad("data folder", data_directory + " cannot be written; choose another --data-dir");
  }
  const std::uint64_t free_bytes = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  const std::string text = StrCat(data_directory, ", ", FormatBytes(free_bytes), " free");
  return free_bytes < kDiskWanted ? Warning("data folder", text + "; logs may fill it")
                                  : Good("data folder", text);
}

Finding ExamineServer(const Target& target) {
  const Client client(target);
  const auto answer = client.Send({.path = "/readyz"});
  if (answer) return Good("controller", "one is up at " + client.server());
  if (answer.error().message.find("Connection") == std::string::npos) {
    return Warning("controller", StrCat(client.server(), ": ", answer.error().message));
  }
  return Good("controller", "none at " + client.server() + "; the port is free for 'eidolon up'");
}

}  // namespace

Finding JudgeTorch(const std::string& answer) {
  const auto parts = base::Split(answer, '|');
  if (parts.size() != 2) {
    return Warning("python", "python3 has no torch; activate the environment of your job");
  }
  const std::string text = StrCat("torch ", parts[0], " for CUDA ", parts[1]);
  if (parts[1] == "None") {
    return Bad("python", text + ": a wheel without CUDA; install the stock CUDA wheel");
  }
  const std::string_view major = std::string_view(parts[1]).substr(0, parts[1].find('.'));
  if (std::ranges::find(kSupportedCuda, major) == kSupportedCuda.end()) {
    return Bad("python", text + ": only wheels for CUDA 12 and 13 are supported");
  }
  return Good("python", text);
}

std::vector<Finding> Examine(const DoctorOptions& options) {
  return {ExaminePrograms(options.binary_directory),
          ExamineShim(options.binary_directory),
          ExamineTorch(),
          ExamineProcessor(),
          ExamineSharedMemory(),
          ExamineAddressSpace(),
          ExamineMemory(),
          ExamineLimit(RLIMIT_NOFILE, "files", "open files", kFilesWanted),
          ExamineLimit(RLIMIT_NPROC, "processes", "processes", kProcessesWanted),
          ExamineDisk(options.data_directory),
          ExamineServer(options.target)};
}

bool HasBadFinding(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    if (finding.health == Health::kBad) return true;
  }
  return false;
}

std::string FormatFindings(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    const char* mark = finding.health == Health::kGood      ? "ok   "
                       : finding.health == Health::kWarning ? "warn "
                                                            : "FAIL ";
    std::string line = mark + finding.subject;
    line.resize(20, ' ');
    text += line + finding.text + "\n";
  }
  return text;
}

}  // namespace eidolon::cli
