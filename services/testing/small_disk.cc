#include "services/testing/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "services/base/check.h"

namespace eidolon::testing {
namespace {

constexpr char kFiller[] = "filler";

}  // namespace

SmallDisk::SmallDisk(std::size_t mebibytes) {
  const std::string options = "size=" + std::to_string(mebibytes) + "m";
  if (mount("tmpfs", path().c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0) return;
  why_missing_ = std::string("mounting a file system: ") + std::strerror(errno);
}

SmallDisk::~SmallDisk() {
  if (why_missing_.empty()) umount2(path().c_str(), MNT_DETACH);
}

void SmallDisk::Fill() {
  CHECK(why_missing_.empty());
  const int file = open((*this / kFiller).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  const std::vector<char> page(4096, 'x');
  while (write(file, page.data(), page.size()) > 0) {
  }
  CHECK(errno == ENOSPC);
  close(file);
}

void SmallDisk::MakeReadOnly() {
  CHECK(mount(nullptr, path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0);
}

void SmallDisk::Empty() { CHECK(unlink((*this / kFiller).c_str()) == 0); }

}  // namespace eidolon::testing
