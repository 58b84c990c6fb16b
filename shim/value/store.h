// Values of emulated device memory, as far as the host knows them: a sparse map from device addresses to
// bytes. Host-to-device copies, memsets, device copies and small collectives move real bytes here; kernels
// do not run, so what they write stays what it was. Large writes are not kept (they would cost real RAM):
// their range becomes unknown and reads as the job's policy (zeros).
//
// Order: program order of the calling process, except that results of collectives arrive later. While one
// is outstanding, operations queue behind it (value/pending.h) and every host wait drains the queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace eidolon::shim::value {

// Thread safe. Addresses are emulated device addresses; ranges need not be allocated.
class Store {
 public:
  // Writes of more bytes than this are not kept.
  static constexpr std::size_t kLargestKeptWrite = 1 << 20;
  // When more bytes than this are kept in all, the oldest pages become unknown.
  static constexpr std::size_t kCapacityBytes = 256 << 20;

  Store();
  ~Store();

  void Write(std::uint64_t address, const void* bytes, std::size_t size);
  void Fill(std::uint64_t address, std::uint64_t pattern, std::size_t element_bytes,
            std::size_t size);
  // Copies device to device, known-ness included.
  void Copy(std::uint64_t target, std::uint64_t source, std::size_t size);
  // Fills `bytes` with what is known, and `unknown_byte` elsewhere; returns how many bytes were unknown.
  std::size_t Read(std::uint64_t address, void* bytes, std::size_t size,
                   unsigned char unknown_byte = 0) const;
  // True when every byte is known and no kernel may have written over it since.
  bool IsKnown(std::uint64_t address, std::size_t size) const;
  // The range now holds something nobody knows.
  void Forget(std::uint64_t address, std::size_t size);

  std::size_t kept_bytes() const;

 private:
  struct Page;
  Page* FindPage(std::uint64_t number) const;
  Page& GetPage(std::uint64_t number);
  void EvictOldest();

  mutable std::mutex mutex_;  // Guards everything below.
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<std::uint64_t> order_;  // Page numbers, oldest first.
};

// The process's store.
Store& ProcessStore();

}  // namespace eidolon::shim::value
