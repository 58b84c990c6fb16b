#include "services/cli/job_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "services/base/text.h"
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
  const bool to_file = request.file != "-";
  if (auto may = CheckJobFile(request.what, request.file); !may) return may;
  std::FILE* out = to_file ? std::fopen(request.file.c_str(), "wb") : stdout;
  if (out == nullptr) {
    return Fail(ErrorCode::kInvalidArgument,
                StrCat("cannot write ", request.file, ": ", std::strerror(errno)));
  }
  bool is_written = true;
  auto done = client.Stream(
      JobPath(request.name_space, request.job) + "/" + request.what, [&](const std::string& part) {
        is_written = std::fwrite(part.data(), 1, part.size(), out) == part.size();
        return is_written;
      });
  is_written = std::fflush(out) == 0 && is_written;
  if (to_file) is_written = std::fclose(out) == 0 && is_written;
  if (done && !is_written) {
    done = Fail(ErrorCode::kResourceExhausted,
                StrCat("cannot write all of the ", request.what, " to ", request.file));
  }
  if (!done && to_file) std::remove(request.file.c_str());
  return done;
}

}  // namespace eidolon::cli
