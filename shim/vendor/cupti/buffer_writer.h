// Buffers of activity records: the program gives empty ones and gets them back with records behind
// each other, which it walks with cuptiActivityGetNextRecord.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace eidolon::shim::cupti {

// Returns the size of the structure that records of this kind have here; 0 for kinds that are never
// made.
std::size_t RecordBytes(CUpti_ActivityKind kind);

// Records that belong together, and stay together in one buffer.
class RecordGroup {
 public:
  template <typename Record>
  void Add(const Record& record) {
    static_assert(sizeof(Record) % 8 == 0);
    const auto* bytes = reinterpret_cast<const std::byte*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(record));
    ++count_;
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::size_t count() const { return count_; }
  void Clear() {
    bytes_.clear();
    count_ = 0;
  }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_ = 0;
};

// Asks for a buffer when it needs one and hands over each that is full, the last one when it ends.
// One thread.
class BufferWriter {
 public:
  BufferWriter(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
      : request_(request), complete_(complete) {}
  BufferWriter(const BufferWriter&) = delete;
  BufferWriter& operator=(const BufferWriter&) = delete;
  ~BufferWriter() { Complete(); }

  // Asks for a buffer although nothing is to be put into it yet: profilers flush only when they
  // have given one.
  void Prepare();
  // False: the program has no buffer that is large enough; the group is dropped.
  bool Put(const RecordGroup& group);

 private:
  bool Fits(const RecordGroup& group) const;
  void Complete();

  CUpti_BuffersCallbackRequestFunc request_;
  CUpti_BuffersCallbackCompleteFunc complete_;
  std::uint8_t* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::size_t records_ = 0;
  std::size_t records_max_ = 0;  // 0: no limit.
};

}  // namespace eidolon::shim::cupti
