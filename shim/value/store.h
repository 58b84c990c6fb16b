// Values of emulated device memory, as far as the host knows them: a sparse map from device
// addresses to bytes. Host-to-device copies, memsets, device copies and small collectives move real
// bytes here; kernels do not run, so what they write stays what it was. Large writes are not kept
// (they would cost real RAM): their range becomes unknown and reads as the job's policy (zeros).
//
// A byte is known (some host operation or executed kernel put it there), stale (known once, but a
// kernel got a pointer to it since), or unknown. The host reads the policy for stale bytes, too, or
// what they were, where that is plausible (plausible.h); the report says what was given. That they
// were kept still tells how far the buffer behind a pointer reaches.
//
// Results that can be computed at any time are kept as what computes them (unread_results.h): their
// bytes are known, and there as soon as somebody reads one.
//
// Order: program order of the calling process, except that results of collectives arrive later.
// While one is outstanding, operations queue behind it (value/pending.h) and every host wait drains
// the queue.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "services/contract/ring/layout.h"
#include "shim/value/author_table.h"
#include "shim/value/range_set.h"
#include "shim/value/unread_results.h"

namespace eidolon::shim::value {

// Thread safe. Addresses are emulated device addresses; ranges need not be allocated.
class Store {
 public:
  // Writes of more bytes than this are not kept, but for pickled objects that a collective carries.
  static constexpr std::size_t kLargestKeptWrite = 1 << 20;
  static constexpr std::size_t kLargestKeptObject = ring::kPayloadBytes;
  static bool IsKept(const void* bytes, std::size_t size);
  // When more bytes than this are kept in all, the oldest pages become unknown.
  static constexpr std::size_t kCapacityBytes = 256 << 20;

  Store();
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  void Write(std::uint64_t address, const void* bytes, std::size_t size);
  // Requires: element_bytes is 1, 2 or 4; size a multiple of it.
  void Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
            std::size_t size);
  // Copies device to device, known-ness included.
  void Copy(std::uint64_t target, std::uint64_t source, std::size_t size);
  // Fills `bytes` with known values, and `unknown_byte` elsewhere; returns how many bytes were not
  // known.
  std::size_t Read(std::uint64_t address, void* bytes, std::size_t size,
                   unsigned char unknown_byte = 0) const;
  // True when every byte is known and no kernel may have written over it since.
  bool IsKnown(std::uint64_t address, std::size_t size) const;
  // The range now holds something nobody knows.
  void Forget(std::uint64_t address, std::size_t size, Author author = kNobody);

  // Returns what `result` gives stands in the range from now on; other bytes of the range stay what
  // they were. It gives no byte from `written_end` on that is known now. False: it was not kept,
  // and nothing changed: there are too many, or a byte before `written_end` is known, which whoever
  // reads it would take for the result's.
  bool WriteUnread(std::uint64_t begin, std::uint64_t end, std::uint64_t written_end,
                   std::shared_ptr<UnreadResult> result);
  // Computes the unread result that has the byte at the address, if there is one. False: there is
  // none.
  bool ComputeUnread(std::uint64_t address) const;

  // A kernel got this pointer and may write there: the contiguous known bytes from it on become
  // stale. Cheap when nothing is kept near it: one load.
  void NoteKernelPointer(std::uint64_t address) {
    if (MayHold(address)) MakeStale(address);
  }
  // Of unknown effect: nobody knows what the range holds.
  void MakeStale(std::uint64_t begin, std::uint64_t end);
  // The stale bytes from the address on, `most` at most, become known again, as they were. How many
  // did.
  std::size_t Revive(std::uint64_t address, std::size_t most);
  // Another number whenever bytes that were not known may have become so.
  std::uint64_t known_version() const { return known_version_.load(std::memory_order_acquire); }
  // True when some byte of [begin, end) is known.
  bool HasKnown(std::uint64_t begin, std::uint64_t end) const;
  // False when surely no byte of the address's page is kept.
  bool MayHold(std::uint64_t address) const {
    if (unread_.MayHold(address, address + 1)) return true;
    const std::size_t bit = FilterBit(address / kPageBytes);
    const std::uint64_t word = filter_[bit / 64].load(std::memory_order_relaxed);
    return (word >> (bit % 64) & 1) != 0;
  }

  // One page's bytes (zeros where nothing is kept) and, a bit per byte, which of them are known.
  // Those of unread results are not: whoever meets one has it computed.
  static constexpr std::size_t kPageBytes = 4096;
  using PageBits = std::array<std::uint64_t, kPageBytes / 64>;
  void ReadPage(std::uint64_t number, std::byte* bytes, PageBits& known) const;

  // How many known bytes follow each other from the address on, unread results left out.
  std::uint64_t KnownRun(std::uint64_t address) const;

  // Returns the end of the bytes that are kept, or of unread results, from the address on, one
  // after the other; 0 when it is neither.
  std::uint64_t KeptEnd(std::uint64_t address) const;

  std::size_t kept_bytes() const;

  // Returns the table of kernels that made bytes unknown.
  AuthorTable& authors() { return authors_; }
  const AuthorTable& authors() const { return authors_; }

 private:
  static constexpr std::size_t kFilterBits = 1 << 18;
  struct Page;

  static std::size_t FilterBit(std::uint64_t page) {
    return static_cast<std::size_t>((page * 0x9e3779b97f4a7c15u) >> 46);
  }
  Page* FindPage(std::uint64_t number) const;
  Page& GetPage(std::uint64_t number);
  void EvictOldest();
  void MakeStale(std::uint64_t address);
  void ComputeUnread(std::uint64_t begin, std::uint64_t end) const;
  void WriteLocked(std::uint64_t address, const unsigned char* bytes, std::size_t size);
  void ForgetLocked(std::uint64_t address, std::size_t size);
  // Requires: every byte is kept.
  void ReadLocked(std::uint64_t address, unsigned char* bytes, std::size_t size) const;

  mutable UnreadResults unread_;  // Locked before `mutex_`.
  mutable std::mutex mutex_;      // Guards everything below but the filter.
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  RangeSet kept_;   // Bytes that have a value.
  RangeSet known_;  // Of those, what no kernel may have changed.
  std::atomic<std::uint64_t> known_version_{1};
  std::deque<std::uint64_t> order_;  // Page numbers, oldest first; may name pages that are gone.
  std::array<std::atomic<std::uint64_t>, kFilterBits / 64> filter_{};  // Pages that may be kept.
  AuthorTable authors_;
};

// The process's store.
Store& ProcessStore();

}  // namespace eidolon::shim::value
