#include "services/cli/job_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "services/base/standard_output.h"
#include "services/base/text.h"
#include "services/base/write_file.h"
#include "services/cli/follow.h"

namespace eidolon::cli {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

base::Result<void> CheckJobFile(const std::string& what, const std::string& file) {
  if (file == "-") return {};
  // Opening a pipe waits for a reader.
  std::error_code unknown;
  if (std::filesystem::is_fifo(file, unknown)) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("cannot write the ", what, " to ", file,
                       ": it is a pipe; name a file, or '-' for standard output"));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out(std::fopen(file.c_str(), "ab"),
                                                            &std::fclose);
  if (out != nullptr) return {};
  return Fail(ErrorCode::kInvalidArgument,
              StrCat("cannot write the ", what, " to ", file, ": ", std::strerror(errno)));
}

void PrintTimelineHint(const std::string& file) {
  std::fprintf(stderr, "eidolon: the timeline is in %s; ui.perfetto.dev opens it\n", file.c_str());
}

void PrintRecordingHint(const std::string& file) {
  std::fprintf(stderr,
               "eidolon: the recording is in %s; 'eidolon replay' predicts it for other clusters\n",
               file.c_str());
}

base::Result<void> FetchJobFile(const Client& client, const JobFileRequest& request) {
  const std::string path = JobPath(request.name_space, request.job) + "/" + request.what;
  if (request.file == "-") {
    // What does not arrive there is the whole command's failure.
    return client.Stream(path, [](const std::string& part) {
      base::Print(part);
      return !base::OutputError();
    });
  }
  if (auto may = CheckJobFile(request.what, request.file); !may) return may;
  std::FILE* out = std::fopen(request.file.c_str(), "wb");
  if (out == nullptr) return std::unexpected(base::CannotWrite(request.file, errno));
  int failure = 0;
  auto done = client.Stream(path, [&](const std::string& part) {
    if (std::fwrite(part.data(), 1, part.size(), out) == part.size()) return true;
    failure = errno;
    return false;
  });
  if (std::fclose(out) != 0 && failure == 0) failure = errno;
  if (done && failure != 0) done = std::unexpected(base::CannotWrite(request.file, failure));
  std::error_code ignored;
  if (!done && std::filesystem::is_regular_file(request.file, ignored)) {
    std::remove(request.file.c_str());
  }
  return done;
}

}  // namespace eidolon::cli
