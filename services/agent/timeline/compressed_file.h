// A file that is one frame of Zstandard, written from its beginning to its end. Frames behind each
// other decompress to what they hold behind each other, so such files can be put together.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "services/base/error.h"

struct ZSTD_CCtx_s;

namespace eidolon::agent::timeline {

// This class is not thread-safe. Only Finish reports what went wrong.
class CompressedFile {
 public:
  explicit CompressedFile(std::string path);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  void Write(std::string_view bytes) { Compress(bytes, /*end=*/false); }
  // Call once, at last.
  base::Result<void> Finish();

 private:
  void Compress(std::string_view bytes, bool end);

  struct ContextDeleter {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  struct FileDeleter {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const std::string path_;
  std::unique_ptr<std::FILE, FileDeleter> file_;
  std::unique_ptr<ZSTD_CCtx_s, ContextDeleter> context_;
  std::vector<char> compressed_;
  bool failed_ = false;
};

}  // namespace eidolon::agent::timeline
