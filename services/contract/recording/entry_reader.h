// Reads the entries of one rank, one after another, without holding more than a few of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "services/base/error.h"
#include "services/contract/recording/entry.h"

struct ZSTD_DCtx_s;

namespace eidolon::recording {

// An entry of a size that its kind allows; what a record of the ring holds is not checked. Valid
// until the reader reads on.
struct EntryView {
  std::span<const std::byte> bytes;  // 8-byte aligned.

  const ring::RecordHeader& header() const { return As<ring::RecordHeader>(); }
  bool IsRecord() const { return static_cast<std::uint16_t>(header().kind) < kFirstEntryKind; }
  EntryKind kind() const { return static_cast<EntryKind>(header().kind); }
  // Requires: T is the kind's struct.
  template <typename T>
  const T& As() const {
    return *reinterpret_cast<const T*>(bytes.data());
  }
};

// This class is not thread-safe. Movable.
class EntryReader {
 public:
  // `frame` outlives the reader.
  explicit EntryReader(std::span<const std::byte> frame);
  ~EntryReader();
  EntryReader(EntryReader&&) noexcept;
  EntryReader& operator=(EntryReader&&) noexcept;

  // The next entry; nothing at the end. An error is damage.
  base::Result<std::optional<EntryView>> Next();

 private:
  base::Result<void> Fill(std::size_t bytes);
  std::size_t available() const { return end_ - begin_; }

  struct ContextDeleter {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  std::span<const std::byte> frame_;  // What was not decompressed yet.
  std::unique_ptr<ZSTD_DCtx_s, ContextDeleter> context_;
  std::vector<std::uint64_t> plain_;  // Words for alignment.
  std::size_t begin_ = 0, end_ = 0;   // Bytes of it that were not read.
  std::uint64_t read_ = 0;            // Entries, for messages.
};

}  // namespace eidolon::recording
