// The digest by which a statically linked CUDA runtime recognises the driver's tables: HMAC (RFC
// 2104) over MD2 (RFC 1319), with a key that runtime and driver share. Runtime and driver compute
// it over what both see of the process and its devices; the runtime goes on when both agree.
//
// What is digested, in which order and with which key is known from ZLUDA (github.com/vosen/ZLUDA,
// Apache-2.0 or MIT). Pure functions of their arguments; thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eidolon::shim::cuda_driver {

using Digest = std::array<std::uint8_t, 16>;

// MD2 as RFC 1319 has it, fed in pieces.
class Md2 {
 public:
  void Update(std::span<const std::byte> bytes) noexcept;
  // Pads, adds the checksum and gives the digest. Once, as the last call.
  Digest Finish() noexcept;

 private:
  static constexpr std::size_t kBlock = 16;

  void Compress() noexcept;

  std::array<std::uint8_t, 3 * kBlock> state_{};
  std::array<std::uint8_t, kBlock> checksum_{};
  std::array<std::uint8_t, kBlock> block_{};
  std::size_t filled_ = 0;
};

// HMAC over MD2. Keys of 16 bytes fill MD2's block as they are.
class Md2Hmac {
 public:
  explicit Md2Hmac(const Digest& key) noexcept;
  void Update(std::span<const std::byte> bytes) noexcept { inner_.Update(bytes); }
  Digest Finish() noexcept;

 private:
  Digest key_;
  Md2 inner_;
};

// Part of the digest for one device, in the layout that is digested.
struct DigestedDevice {
  std::array<std::uint8_t, 16> uuid;
  std::int32_t pci_domain;
  std::int32_t pci_bus;
  std::int32_t pci_device;
};
static_assert(sizeof(DigestedDevice) == 28);

// Part of the digest for the process, in the layout that is digested. Versions as
// cuDriverGetVersion gives them; `thread` is the low half of pthread_self; the addresses are of the
// tables that the driver gave out and of the entry that was called; `unix_seconds` is the caller's.
struct DigestedProcess {
  std::uint32_t driver_version;
  std::uint32_t runtime_version;
  std::uint32_t process;
  std::uint32_t thread;
  const void* runtime_table;
  const void* check_table;
  const void* check_entry;
  std::uint64_t unix_seconds;
};
static_assert(sizeof(DigestedProcess) == 48);

// The answer that the runtime waits for. Runtime versions that end in 0 or 1 ask for no digest but
// for constants.
Digest DriverDigest(const DigestedProcess& process,
                    std::span<const DigestedDevice> devices) noexcept;

}  // namespace eidolon::shim::cuda_driver
