#include "shim/core/launcher.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "services/contract/ring/layout.h"
#include "services/contract/ring/server_page.h"
#include "shim/core/server_page.h"
#include "shim/core/session.h"
#include "shim/core/system.h"

namespace eidolon::shim::core {
namespace {

// Python, its options, and torchrun or -m and its module.
constexpr int kWordsLookedAt = 4;

bool CommandIsTorchrun() noexcept {
  char text[4096];
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  // Past the shim's own export, which may ask for the answer.
  const long size = RawSyscall(SYS_read, file, reinterpret_cast<long>(text), sizeof(text));
  close(file);
  std::string_view rest(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  for (int i = 0; i < kWordsLookedAt && !rest.empty(); ++i) {
    const std::size_t length = rest.find('\0');
    const std::string_view word = rest.substr(0, length);
    if (word == "torch.distributed.run" || word.substr(word.rfind('/') + 1) == "torchrun") {
      return true;
    }
    rest.remove_prefix(length == std::string_view::npos ? rest.size() : length + 1);
  }
  return false;
}

}  // namespace

bool IsTorchrun() noexcept {
  if (RunDirectory() == nullptr || std::getenv("RANK") != nullptr) return false;
  static const bool value = CommandIsTorchrun();
  return value;
}

std::optional<int> DeviceCountOfTorchrun() noexcept {
  if (Session::WasWanted() || !IsTorchrun()) return std::nullopt;
  const ring::ServerPage* const page = MappedServerPage();
  if (page == nullptr || page->device_count == 0 || page->device_count > ring::kMaxDevices) {
    return std::nullopt;
  }
  return static_cast<int>(page->device_count);
}

}  // namespace eidolon::shim::core
