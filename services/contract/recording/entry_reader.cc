// A recording may be larger than memory, so the frame is decompressed a buffer at a time, and an
// entry is a view into that buffer. Unread bytes move to its front before more are added. The
// buffer grows only for an entry that is larger, whose size is checked first. Words of 64 bits give
// the alignment that views need, and entries have sizes of whole words, so each begins aligned.
#include "services/contract/recording/entry_reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>

#include "services/base/check.h"
#include "services/base/text.h"
#include "services/contract/ring/layout.h"

namespace eidolon::recording {

using base::ErrorCode;
using base::Fail;
using base::StrCat;

namespace {

constexpr std::size_t kPlainBytes = 256 << 10;

// Of an entry that is not a record; 0: there is no such kind.
std::size_t BytesOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kAnswer:
      return sizeof(AnswerEntry);
    case EntryKind::kIteration:
      return sizeof(IterationEntry);
    case EntryKind::kEnd:
      return sizeof(EndEntry);
  }
  return 0;
}

}  // namespace

void EntryReader::ContextDeleter::operator()(ZSTD_DCtx_s* context) const { ZSTD_freeDCtx(context); }

EntryReader::EntryReader(std::span<const std::byte> frame)
    : frame_(frame), context_(ZSTD_createDCtx()), plain_(kPlainBytes / 8) {
  CHECK(context_ != nullptr);
}

EntryReader::~EntryReader() = default;
EntryReader::EntryReader(EntryReader&&) noexcept = default;
EntryReader& EntryReader::operator=(EntryReader&&) noexcept = default;

// Until so many bytes are there, or the frame is at its end.
base::Result<void> EntryReader::Fill(std::size_t bytes) {
  auto* plain = reinterpret_cast<std::byte*>(plain_.data());
  std::memmove(plain, plain + begin_, available());
  end_ -= begin_;
  begin_ = 0;
  if (bytes > plain_.size() * 8) {
    plain_.resize((bytes + 7) / 8);
    plain = reinterpret_cast<std::byte*>(plain_.data());
  }
  bool moved = true;
  while (available() < bytes && moved) {
    ZSTD_inBuffer in{frame_.data(), frame_.size(), 0};
    ZSTD_outBuffer out{plain + end_, plain_.size() * 8 - end_, 0};
    const std::size_t left = ZSTD_decompressStream(context_.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      return Fail(ErrorCode::kCorrupt, StrCat("the recording is damaged behind entry ", read_,
                                              " of a rank: ", ZSTD_getErrorName(left)));
    }
    frame_ = frame_.subspan(in.pos);
    end_ += out.pos;
    moved = in.pos > 0 || out.pos > 0;
  }
  return {};
}

base::Result<std::optional<EntryView>> EntryReader::Next() {
  const auto damaged = [this](std::string_view what) {
    return Fail(ErrorCode::kCorrupt,
                StrCat("the recording is damaged: entry ", read_, " of a rank ", what));
  };
  if (available() < sizeof(ring::RecordHeader)) {
    if (auto filled = Fill(kPlainBytes); !filled) return std::unexpected(filled.error());
    if (available() == 0) return std::nullopt;
    if (available() < sizeof(ring::RecordHeader)) return damaged("is cut off");
  }
  const auto at = [this] { return reinterpret_cast<const std::byte*>(plain_.data()) + begin_; };
  ring::RecordHeader header;
  std::memcpy(&header, at(), sizeof(header));
  const bool is_record = static_cast<std::uint16_t>(header.kind) < kFirstEntryKind;
  if (header.bytes % 8 != 0 || header.bytes < sizeof(header) ||
      header.bytes > ring::kMaxRecordBytes) {
    return damaged(StrCat("has ", header.bytes, " bytes"));
  }
  if (!is_record && header.bytes != BytesOf(static_cast<EntryKind>(header.kind))) {
    return damaged("is of an unknown kind");
  }
  if (available() < header.bytes) {
    if (auto filled = Fill(header.bytes); !filled) return std::unexpected(filled.error());
    if (available() < header.bytes) return damaged("is cut off");
  }
  const EntryView view{{at(), header.bytes}};
  begin_ += header.bytes;
  ++read_;
  return view;
}

}  // namespace eidolon::recording
