// Hostile machine code: translated, its stores looked for, and run in a few pages of memory. What
// it wrote must lie in them, and be there by a store that was found. Run again with some of the
// bytes unknown, whatever stands in their place must make no difference to what is known.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "services/machine_code/interpret/layout.h"
#include "services/machine_code/interpret/run.h"
#include "services/machine_code/interpret/stores.h"

namespace {

using namespace eidolon::interpret;

constexpr std::uint64_t kBuffer = 0x6b0100000000;
constexpr std::uint64_t kPages = 4;

class FewPages : public Memory {
 public:
  FewPages() = default;
  // Of every 64 bytes these are unknown, and hold something.
  FewPages(std::uint64_t unknown, std::byte held) : unknown_(unknown), held_(held) {}

  Page* FindPage(std::uint64_t number) override {
    if (number - kBuffer / kPageBytes >= kPages) return nullptr;
    std::unique_ptr<Page>& page = pages_[number];
    if (page == nullptr) {
      page = std::make_unique<Page>();
      *page = {};
      page->known.fill(~unknown_);
      for (std::size_t i = 0; i < kPageBytes; ++i) {
        if ((unknown_ >> i % 64 & 1) != 0) page->bytes[i] = held_;
      }
    }
    return page.get();
  }

  // The same bytes are known, and each of them is the same.
  bool KnowsTheSame(const FewPages& other) const {
    return std::ranges::equal(pages_, other.pages_, [](const auto& a, const auto& b) {
      if (a.first != b.first || a.second->known != b.second->known) return false;
      for (std::size_t i = 0; i < kPageBytes; ++i) {
        const bool known = (a.second->known[i / 64] >> i % 64 & 1) != 0;
        if (known && a.second->bytes[i] != b.second->bytes[i]) return false;
      }
      return true;
    });
  }

  bool WasWritten() const {
    return std::ranges::any_of(pages_, [](const auto& entry) {
      return std::ranges::any_of(entry.second->written, [](std::uint64_t w) { return w != 0; });
    });
  }

 private:
  std::uint64_t unknown_ = 0;
  std::byte held_{};
  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

void CheckUnknowns(const Program& program, Launch launch, std::uint64_t unknown) {
  launch.tracks_unknown = true;
  FewPages one(unknown, std::byte{0});
  FewPages other(unknown, std::byte{0xa5});
  const Limits limits{.warp_steps = 20'000};
  const Outcome first = Run(program, launch, one, limits);
  const Outcome second = Run(program, launch, other, limits);
  if (first.stop != second.stop || first.lane_steps != second.lane_steps) __builtin_trap();
  if (!one.KnowsTheSame(other)) __builtin_trap();
}

// What a launch's numbers are taken from: any of them may be absurd.
struct Head {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t dynamic_shared_bytes;
  std::uint32_t static_shared_bytes;
  std::uint32_t local_bytes;
  std::uint16_t registers;
  std::uint8_t cooperative;  // Its bits from the second on: the dialect.
  std::uint8_t banks;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Head head;
  if (size < sizeof(head)) return 0;
  std::memcpy(&head, data, sizeof(head));
  const auto code = std::as_bytes(std::span(data + sizeof(head), size - sizeof(head)));
  Program program;
  program.dialect =
      static_cast<eidolon::sass::Dialect>((head.cooperative >> 1) % eidolon::sass::kDialects);
  program.parameter_base = LayoutOf(program.dialect).parameters;
  program.registers = head.registers;
  program.static_shared_bytes = head.static_shared_bytes;
  program.local_bytes = head.local_bytes;
  for (std::uint32_t bank = 2; bank < 5; ++bank) {
    if ((head.banks >> bank & 1) != 0) program.banks[bank].resize(64);
  }
  if (!Translate(code, program)) return 0;
  const std::array<std::uint64_t, 3> parameters = {kBuffer, kBuffer + kPageBytes, 17};
  const std::array<std::uint32_t, 2> pointers = {0, 8};
  const std::vector<StoreSite> stores = FindStores(program, pointers);
  FewPages memory;
  const Launch launch{.grid = {head.grid[0], head.grid[1], head.grid[2]},
                      .block = {head.block[0], head.block[1], head.block[2]},
                      .dynamic_shared_bytes = head.dynamic_shared_bytes,
                      .parameters = std::as_bytes(std::span(parameters)),
                      .cooperative = (head.cooperative & 1) != 0};
  Run(program, launch, memory, {.warp_steps = 20'000});
  if (memory.WasWritten() && stores.empty()) __builtin_trap();
  CheckUnknowns(program, launch, std::uint64_t{0x0ff0'0001} << head.banks % 32);
  return 0;
}
