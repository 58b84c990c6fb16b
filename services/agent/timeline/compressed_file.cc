#include "services/agent/timeline/compressed_file.h"

#include <zstd.h>

#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::agent::timeline {

namespace {

// Level by a training program with a measured host (agent_timeline_bench), bytes and microseconds
// of an operation: level 3 6.3 and 0.2, 6 5.2 and 0.7, 8 4.3 and 0.9, 10 4.2 and 1.4.
constexpr int kLevel = 8;

}  // namespace

void CompressedFile::ContextDeleter::operator()(ZSTD_CCtx_s* context) const {
  ZSTD_freeCCtx(context);
}

CompressedFile::CompressedFile(std::string path)
    : path_(std::move(path)),
      file_(std::fopen(path_.c_str(), "wbe")),
      context_(ZSTD_createCCtx()),
      compressed_(ZSTD_CStreamOutSize()) {
  CHECK(context_ != nullptr);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  failed_ = file_ == nullptr;
}

CompressedFile::~CompressedFile() = default;

void CompressedFile::Compress(std::string_view bytes, bool end) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  bool open = true;
  while (open && !failed_) {
    ZSTD_outBuffer out{compressed_.data(), compressed_.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(context_.get(), &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    failed_ = ZSTD_isError(left) != 0 ||
              std::fwrite(compressed_.data(), 1, out.pos, file_.get()) != out.pos;
    open = end ? left != 0 : in.pos < in.size;
  }
}

base::Result<void> CompressedFile::Finish() {
  Compress({}, /*end=*/true);
  if (file_ != nullptr && std::fclose(file_.release()) != 0) failed_ = true;
  if (!failed_) return {};
  return base::Fail(base::ErrorCode::kResourceExhausted, base::StrCat("cannot write ", path_));
}

}  // namespace eidolon::agent::timeline
