#include "services/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "services/base/text.h"

namespace eidolon::base {
namespace {

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

Result<int> OpenRegularFile(const std::string& path) {
  const auto fail = [&path](ErrorCode code, std::string_view why) {
    return Fail(code, StrCat("cannot read ", path, ": ", why));
  };
  const int file = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    const int why = errno;
    if (file >= 0) close(file);
    // A socket cannot be opened.
    if (why == ENXIO) return fail(ErrorCode::kInvalidArgument, "it is not a regular file");
    return fail(ErrorCode::kNotFound, std::strerror(why));
  }
  if (S_ISREG(status.st_mode)) return file;
  close(file);
  return fail(ErrorCode::kInvalidArgument,
              StrCat("it is ", KindOf(status.st_mode), ", not a regular file"));
}

Result<std::string> ReadRegularFile(const std::string& path) {
  const auto file = OpenRegularFile(path);
  if (!file) return std::unexpected(file.error());
  std::string text;
  char bytes[1 << 16];
  ssize_t count = 0;
  while ((count = read(*file, bytes, sizeof bytes)) > 0) {
    text.append(bytes, static_cast<std::size_t>(count));
  }
  const int why = errno;
  close(*file);
  if (count == 0) return text;
  return Fail(ErrorCode::kUnavailable, StrCat("cannot read ", path, ": ", std::strerror(why)));
}

}  // namespace eidolon::base
