#include "services/contract/recording/entry_writer.h"

#include <zstd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "services/base/check.h"
#include "services/base/text.h"

namespace eidolon::recording {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

constexpr std::size_t kGatheredBytes = 256 << 10;
constexpr int kLevel = 3;

}  // namespace

void EntryWriter::ContextDeleter::operator()(ZSTD_CCtx_s* context) const { ZSTD_freeCCtx(context); }

EntryWriter::EntryWriter(std::string path, std::uint64_t bytes_max)
    : path_(std::move(path)),
      bytes_max_(bytes_max),
      file_(std::fopen(path_.c_str(), "wbe")),
      context_(ZSTD_createCCtx()) {
  CHECK(context_ != nullptr);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  compressed_.resize(ZSTD_CStreamOutSize());
  if (file_ == nullptr) failure_ = StrCat("cannot write ", path_, ": ", std::strerror(errno));
}

EntryWriter::~EntryWriter() = default;

void EntryWriter::Add(std::span<const std::byte> entry) {
  if (!failure_.empty()) return;
  ++entries_;
  entry_bytes_ += entry.size();
  waiting_.insert(waiting_.end(), entry.begin(), entry.end());
  if (waiting_.size() >= kGatheredBytes) Compress(/*end=*/false);
}

void EntryWriter::Compress(bool end) {
  ZSTD_inBuffer in{waiting_.data(), waiting_.size(), 0};
  bool open = true;
  while (open && failure_.empty()) {
    ZSTD_outBuffer out{compressed_.data(), compressed_.size(), 0};
    const std::size_t left =
        ZSTD_compressStream2(context_.get(), &out, &in, end ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left) != 0) {
      failure_ = StrCat("cannot compress: ", ZSTD_getErrorName(left));
    } else if (bytes_ + out.pos > bytes_max_) {
      failure_ = StrCat("a rank's operations do not fit into ", bytes_max_, " bytes");
    } else if (std::fwrite(compressed_.data(), 1, out.pos, file_.get()) != out.pos) {
      failure_ = StrCat("cannot write ", path_, ": ", std::strerror(errno));
    }
    bytes_ += out.pos;
    open = end ? left != 0 : in.pos < in.size;
  }
  waiting_.clear();
}

base::Result<void> EntryWriter::Finish() {
  if (failure_.empty()) Compress(/*end=*/true);
  if (file_ != nullptr && std::fflush(file_.get()) != 0 && failure_.empty()) {
    failure_ = StrCat("cannot write ", path_, ": ", std::strerror(errno));
  }
  file_.reset();
  if (failure_.empty()) return {};
  return Fail(ErrorCode::kResourceExhausted, failure_);
}

}  // namespace eidolon::recording
