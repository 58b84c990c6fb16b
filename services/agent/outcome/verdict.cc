// One cause brings many symptoms: a rank that dies makes its launcher kill the others and fail
// itself, and each of these ends comes in some order. So facts are collected first and judged once,
// by fixed precedence: the specific cause (no memory, an unsupported call) before the general one
// (the command failed). A rank that ended by SIGTERM was probably ended by its launcher, so a later
// death of another kind replaces it. The output is a witness, too: the last exception and the
// user's own line are kept from it, because that is what a user looks for.
#include "services/agent/outcome/verdict.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <utility>

#include "services/base/text.h"

namespace eidolon::agent::outcome {

using base::StrCat;

namespace {

constexpr std::size_t kErrorLines = 12;

// The shim reports this when the program brought the runtime of another CUDA version.
constexpr std::string_view kForeignRuntime = "libcudart.so";

// The line without torchrun's "[rank1]: ".
std::string_view WithoutRank(std::string_view line) {
  if (!line.starts_with("[rank")) return line;
  const std::size_t end = line.find("]: ");
  return end == line.npos ? line : line.substr(end + 3);
}

// torch.distributed puts the rank before each line of an exception that nobody has caught, and
// before no other.
bool TellsOfUncaughtRefusal(std::string_view line) {
  const std::string_view own = WithoutRank(line);
  return own.size() < line.size() && (own.starts_with("torch.OutOfMemoryError: ") ||
                                      own.starts_with("torch.cuda.OutOfMemoryError: "));
}

// "train.py:40" of a traceback's line that names the user's own code: no installed package, no
// module of Python, nothing that is generated.
std::string OwnLineIn(std::string_view line) {
  constexpr std::string_view kBegin = "File \"";
  constexpr std::string_view kMiddle = "\", line ";
  const std::size_t begin = line.find_first_not_of(' ');
  if (begin == line.npos || !line.substr(begin).starts_with(kBegin)) return "";
  line.remove_prefix(begin + kBegin.size());
  const std::size_t end = line.find(kMiddle);
  if (end == line.npos) return "";
  const std::string_view path = line.substr(0, end);
  constexpr std::string_view kOthers[] = {"/site-packages/", "/dist-packages/", "/lib/python",
                                          "/bin/", "<"};
  if (std::ranges::any_of(kOthers, [&](auto part) { return path.find(part) != path.npos; })) {
    return "";
  }
  const std::string_view rest = line.substr(end + kMiddle.size());
  const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
  return StrCat(path.substr(path.rfind('/') + 1), ":", number);
}

// The exception that a line of a traceback names: "ValueError: bad batch". torchrun's own report
// about its children is none.
std::string ExceptionIn(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  const bool is_name = !name.empty() && name.find_first_not_of(
                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                            "0123456789_.") == std::string_view::npos;
  const bool is_exception = name.ends_with("Error") || name.ends_with("Exception");
  return is_name && is_exception && !name.ends_with("ChildFailedError") ? std::string(line) : "";
}

// What a user can do about an environment that cannot run on emulated GPUs; empty: nothing is
// known.
std::string AdviceFor(std::string_view line) {
  const auto says = [&](std::string_view words) { return line.find(words) != line.npos; };
  // musl's loader about a preloaded library that needs glibc's.
  if ((says("Error loading shared library") || says("Error relocating")) && says("eidolon")) {
    return "its libraries are built on musl (Alpine), but the shim needs glibc 2.28 or newer: use "
           "an image based on Debian, Ubuntu or a relative of Red Hat";
  }
  // These are messages of tensors, of torch.cuda.set_device, of init_process_group.
  if (says("Torch not compiled with CUDA enabled") || says("has no attribute '_cuda_") ||
      says("Distributed package doesn't have NCCL built in")) {
    return "its torch is built without CUDA: install a wheel that is built for CUDA 12 or 13";
  }
  // The shim prints this about a folded job (shim/vendor/nccl/membership.cc).
  constexpr std::string_view kFolded = "eidolon: folding: ";
  const std::size_t folded = line.find(kFolded);
  return folded == line.npos ? "" : std::string(line.substr(folded + kFolded.size()));
}

// Returns what Python, PyTorch's data loaders, torchrun and shells print about a child that
// something killed.
bool TellsOfKill(std::string_view line) {
  constexpr std::string_view kWords[] = {"SIGKILL", "Signal 9", "signal 9", "exitcode: -9",
                                         "exitcode  : -9"};
  return line.ends_with("Killed") || line.find("by signal: Killed") != line.npos ||
         std::ranges::any_of(kWords,
                             [&](std::string_view word) { return line.find(word) != line.npos; });
}

}  // namespace

std::string BytesText(std::uint64_t bytes) {
  char text[32];
  if (bytes >= (std::uint64_t{1} << 30)) {
    std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  } else {
    std::snprintf(text, sizeof(text), "%.2f MiB", static_cast<double>(bytes) / (1 << 20));
  }
  return text;
}

void Verdict::NoteRefusedCall(const std::string& name, bool strict) {
  if (refused_call_.empty() || name.starts_with(kForeignRuntime)) refused_call_ = name;
  strict_ = strict_ || strict;
}

void Verdict::NoteErrorLine(const std::string& line) {
  const std::string_view own = WithoutRank(line);
  if (std::string frame = OwnLineIn(own); !frame.empty()) frame_ = std::move(frame);
  if (std::string exception = ExceptionIn(own); !exception.empty()) {
    exception_ = std::move(exception);
    own_line_ = std::exchange(frame_, "");
  }
  if (advice_.empty()) advice_ = AdviceFor(line);
  tells_of_kill_ = tells_of_kill_ || TellsOfKill(line);
  is_ending_for_memory_ =
      is_ending_for_memory_ || (refusal_.has_value() && TellsOfUncaughtRefusal(line));
  error_lines_.push_back(line);
  if (error_lines_.size() > kErrorLines) error_lines_.pop_front();
}

void Verdict::NoteRankDeath(const RankDeath& death) {
  const bool was_ended = WasTerminated() && death.status.signal != SIGTERM;
  if (!death_.has_value() || was_ended) death_ = death;
}

void Verdict::NoteRankGone(const RankDeath& death) {
  // Also when both are seen in one look: one that is terminated has a launcher that lives on.
  if (!gone_.has_value() && (!death_.has_value() || WasTerminated())) gone_ = death;
}

void Verdict::NoteSessionLost(int rank, int pid, const std::string& how) {
  if (lost_.empty()) lost_ = StrCat("rank ", rank, " (pid ", pid, ") ", how);
}

void Verdict::NoteWaitInVain(const std::string& reason) {
  if (wait_in_vain_.empty()) wait_in_vain_ = reason;
}

void Verdict::NoteSilentEnd(int rank, int pid) {
  silent_ += StrCat("; rank ", rank, " (pid ", pid,
                    ") ended without saying so, as one does that its launcher kills: what it would "
                    "still have done is missing");
}

// A launcher that has lost a rank terminates the others.
bool Verdict::WasTerminated() const {
  return death_.has_value() && death_->status.signal == SIGTERM;
}

// Several jobs of one machine may share a cgroup, so that a kill in it is not enough.
bool Verdict::WasKilledForMemory(const std::optional<launch::ExitStatus>& command) const {
  constexpr int kKilledCode = 128 + SIGKILL;
  if (host_memory_.kills == 0) return false;
  const bool was_rank = death_.has_value() && death_->status.signal == SIGKILL;
  const bool was_command = command.has_value() && command->code == kKilledCode;
  return was_rank || was_command || gone_.has_value() || tells_of_kill_;
}

std::string Verdict::HostMemoryText() const {
  const std::string limit = BytesText(host_memory_.limit_bytes);
  std::string text = "; the kernel killed ";
  text += host_memory_.kills == 1 ? "a process" : StrCat(host_memory_.kills, " processes");
  if (launch::IsAtLimit(host_memory_)) {
    return text + " because this server's host memory reached its limit of " + limit +
           ": raise it (limits.memoryPerServer on Kubernetes), or keep less in host memory";
  }
  text += " because the machine had no host memory left";
  if (host_memory_.limit_bytes > 0) text += ", below this server's limit of " + limit;
  return text +
         ": run fewer ranks on it, or keep less in host memory (on Kubernetes "
         "limits.memoryPerServer also reserves it)";
}

std::string Verdict::LastLines() const {
  std::string text;
  for (const std::string& line : error_lines_) text += "\n" + line;
  return text.empty() ? text : "; last lines of its error output:" + text;
}

std::string Verdict::Culprit(const std::optional<launch::ExitStatus>& command) const {
  if (death_.has_value()) {
    const std::string died =
        StrCat("rank ", death_->rank, " (pid ", death_->pid, ") died: ", death_->status.Text());
    if (!WasTerminated() || !gone_.has_value()) return died;
    std::string text = StrCat("rank ", gone_->rank, " (pid ", gone_->pid,
                              ") ended first, as only its launcher knows how; then ", died);
    if (command.has_value()) text += StrCat("; the command failed: ", command->Text());
    return text;
  }
  return command.has_value() ? StrCat("the command failed: ", command->Text())
                             : std::string("the command failed");
}

Ending Verdict::Judge(const std::optional<launch::ExitStatus>& command) const {
  Ending ending;
  if (command.has_value()) ending.exit_status = command->code;
  // Of a rank that something has killed a launcher may say nothing.
  const bool killed = death_.has_value() && death_->status.signal != 0;
  const bool is_whole = lost_.empty() && (!killed || WasTerminated());
  if (command.has_value() && command->ok() && is_whole) {
    ending.message = "the command ended" + silent_;
    return ending;
  }
  if (refusal_.has_value()) {
    ending.reason = Reason::kOutOfMemory;
    ending.message = StrCat("rank ", refusal_->rank, " ran out of memory on GPU ", refusal_->device,
                            ": it asked for ", BytesText(refusal_->asked_bytes), " when ",
                            BytesText(refusal_->booked_bytes), " of ",
                            BytesText(refusal_->capacity_bytes), " were booked");
    return ending;
  }
  if (WasKilledForMemory(command)) {
    ending.reason = Reason::kOutOfHostMemory;
    ending.message = Culprit(command) + HostMemoryText() + LastLines();
    return ending;
  }
  if (!lost_.empty()) {
    ending.reason = Reason::kSessionLost;
    ending.message = lost_ + LastLines();
    return ending;
  }
  if (strict_ && !refused_call_.empty()) {
    ending.reason = Reason::kUnsupportedCall;
    ending.message =
        StrCat("'", refused_call_, "' is not supported, and the job asked to stop at the ",
               "first such call");
    return ending;
  }
  if (refused_call_.starts_with(kForeignRuntime)) {
    ending.reason = Reason::kUnsupportedCall;
    ending.message =
        StrCat("the program is built for another CUDA version: it loaded ", refused_call_,
               "; install the CUDA 12 or 13 build of its packages (for torch, a wheel whose ",
               "torch.version.cuda is 12 or 13); 'eidolon doctor' shows what is installed");
    return ending;
  }
  // A launcher whose rank has failed terminates the others and fails itself.
  const bool failed_first = WasTerminated() && gone_.has_value() && command.has_value() &&
                            command->signal == 0 && !tells_of_kill_;
  const bool was_lost = killed && !failed_first;
  ending.reason = was_lost ? Reason::kRankLost : Reason::kCommandFailed;
  ending.message = Culprit(command);
  if (!exception_.empty() && !was_lost) {
    ending.message += ": " + exception_;
    if (!own_line_.empty()) ending.message += " (" + own_line_ + ")";
  }
  if (!advice_.empty() && !was_lost) ending.message += "; " + advice_;
  if (!wait_in_vain_.empty()) ending.message += "; before that, " + wait_in_vain_;
  if (!refused_call_.empty()) {
    ending.message += StrCat(" (it had called '", refused_call_, "', which is not supported)");
  }
  ending.message += LastLines();
  return ending;
}

}  // namespace eidolon::agent::outcome
