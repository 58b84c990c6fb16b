#include "shim/gpu/copy/reach.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <vector>

#include "services/base/random.h"
#include "shim/core/fake_agent.h"
#include "shim/gpu/allocation/host_memory.h"
#include "shim/gpu/allocation/pool.h"
#include "shim/gpu/allocation/virtual_memory.h"
#include "shim/gpu/context/context.h"
#include "shim/gpu/copy/copy.h"
#include "shim/gpu/memory/arena.h"
#include "shim/gpu/memory/memory.h"

namespace eidolon::shim::gpu {
namespace {

constexpr std::uint64_t kMost = ~std::uint64_t{0};
constexpr std::uint64_t kHostBytes = 1 << 20;

void* At(std::uint64_t address) { return reinterpret_cast<void*>(address); }

bool Holds(std::uint64_t address, std::uint64_t bytes) {
  return HoldsBytes(Inspect(At(address)), At(address), bytes);
}

class ReachTest : public ::testing::Test {
 protected:
  ReachTest() : agent_(core::FakeAgent::Start()) {
    EXPECT_EQ(SetDevice(0), Status::kSuccess);
    // Not of the heap: the thread sanitizer's lies where the emulated memory is.
    void* const mapped =
        mmap(nullptr, kHostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    host_ = reinterpret_cast<std::uint64_t>(mapped);
  }
  ~ReachTest() override { munmap(At(host_), kHostBytes); }

  core::FakeAgent& agent_;
  std::uint64_t host_ = 0;  // Plain memory.
};

struct Range {
  std::string name;
  std::uint64_t begin;
  std::uint64_t bytes;
  bool is_held;
};

// Of memory that the GPU knows, a memset accepts what is held and refuses the rest.
void ExpectFills(const std::vector<Range>& rows) {
  for (const Range& row : rows) {
    const FillRequest request{.target = At(row.begin), .value = 7, .elements = row.bytes};
    const Status expected = row.is_held ? Status::kSuccess : Status::kInvalidValue;
    EXPECT_EQ(Fill(request, nullptr), expected) << row.name;
  }
}

TEST_F(ReachTest, DeviceMemoryEndsWithItsAllocation) {
  std::uint64_t small = 0;
  std::uint64_t neighbour = 0;
  std::uint64_t large = 0;
  ASSERT_EQ(Allocate(0, 1000, &small), Status::kSuccess);
  ASSERT_EQ(Allocate(0, 1024, &neighbour), Status::kSuccess);
  ASSERT_EQ(Allocate(0, 5 << 20, &large), Status::kSuccess);
  ASSERT_EQ(neighbour, small + 1024);

  ExpectFills({
      {"all of it", small, 1000, true},
      {"its last byte", small + 999, 1, true},
      {"no byte at its end", small + 1000, 0, true},
      {"no byte of nothing", kArenaEnd - 1, 0, true},
      {"one byte more", small, 1001, false},
      {"one byte behind", small + 1000, 1, false},
      {"into the neighbour", small, 1025, false},
      {"a large one whole", large, 5 << 20, true},
      {"a large one's last page", large + (5 << 20) - 4096, 4096, true},
      {"what a granule has more", large, (5 << 20) + 1, false},
      {"all addresses", small, kMost, false},
      {"around the end of addresses", small + 8, kMost - 8, false},
      {"never allocated", kArenaEnd - 4096, 1, false},
      {"null", 0, 1, false},
  });
  Free(small);
  Free(neighbour);
  Free(large);
  ExpectFills({{"freed", small, 1, false}, {"freed, large", large, 1, false}});
}

TEST_F(ReachTest, MappingsAreUsedAcrossTheirBorders) {
  constexpr std::uint64_t kPiece = kGranuleBytes;
  std::uint64_t begin = 0;
  ASSERT_EQ(ReserveAddress(8 * kPiece, 0, 0, &begin), Status::kSuccess);
  PhysicalHandle handle = 0;
  ASSERT_EQ(CreatePhysical({}, kPiece, &handle), Status::kSuccess);
  for (const std::uint64_t piece : {0, 1, 2, 4}) {
    ASSERT_EQ(Map(begin + piece * kPiece, kPiece, 0, handle), Status::kSuccess);
  }

  ExpectFills({
      {"over three", begin + 1, 3 * kPiece - 1, true},
      {"over a border", begin + kPiece - 8, 16, true},
      {"into the gap", begin + 2 * kPiece, kPiece + 1, false},
      {"over the gap", begin + 2 * kPiece, 3 * kPiece, false},
      {"in the gap", begin + 3 * kPiece, 1, false},
      {"behind the gap", begin + 4 * kPiece, kPiece, true},
      {"reserved only", begin + 5 * kPiece, 1, false},
      {"more than all", begin, kMost, false},
  });
  EXPECT_EQ(Unmap(begin + kPiece, kPiece), Status::kSuccess);
  ExpectFills({{"unmapped in the middle", begin, 3 * kPiece, false}});

  for (const std::uint64_t piece : {0, 2, 4}) Unmap(begin + piece * kPiece, kPiece);
  ReleasePhysical(handle);
  FreeAddress(begin, 8 * kPiece);
}

TEST_F(ReachTest, APoolsMemoryIsTheProgramsWhileItHoldsIt) {
  PoolHandle pool = nullptr;
  std::uint64_t begin = 0;
  ASSERT_EQ(CreatePool(0, &pool), Status::kSuccess);
  SetPoolAttribute(pool, PoolAttribute::kReleaseThreshold, kMost);
  ASSERT_EQ(AllocateFromPool(pool, 1000, nullptr, &begin), Status::kSuccess);

  ExpectFills({{"all of it", begin, 1000, true}, {"more", begin, 1001, false}});
  EXPECT_EQ(FreeAsync(begin, nullptr), Status::kSuccess);
  ExpectFills({{"given back", begin, 1, false}});
  EXPECT_EQ(FreeAsync(begin, nullptr), Status::kInvalidValue);
  std::uint64_t again = 0;
  ASSERT_EQ(AllocateFromPool(pool, 3000, nullptr, &again), Status::kSuccess);
  EXPECT_EQ(again, begin);
  ExpectFills({{"taken again", begin, 3000, true}});
  FreeAsync(again, nullptr);
  DestroyPool(pool);
}

TEST_F(ReachTest, ImportedMemoryIsOneAllocation) {
  std::uint64_t begin = 0;
  ASSERT_EQ(ReserveRange(2 * kGranuleBytes, kGranuleBytes, 0, &begin), Status::kSuccess);
  AddExtent({.begin = begin, .bytes = kGranuleBytes}, ExtentKind::kImported);
  AddExtent({.begin = begin + kGranuleBytes, .bytes = kGranuleBytes}, ExtentKind::kImported);

  ExpectFills({
      {"all of it", begin, kGranuleBytes, true},
      {"into the next", begin, kGranuleBytes + 1, false},
  });
  RemoveExtent(begin);
  RemoveExtent(begin + kGranuleBytes);
  ReleaseRange(begin, 2 * kGranuleBytes);
}

TEST_F(ReachTest, HostMemoryIsWhollyKnownOrWhollyUnknown) {
  void* pinned = nullptr;
  void* managed = nullptr;
  ASSERT_EQ(AllocateHost(5000, 0, &pinned), Status::kSuccess);
  ASSERT_EQ(AllocateManaged(5000, 1, &managed), Status::kSuccess);
  ASSERT_EQ(RegisterHost(At(host_ + 8192), 4096, 0), Status::kSuccess);
  ASSERT_EQ(RegisterHost(At(host_ + 12288), 4096, 0), Status::kSuccess);
  const auto page_locked = reinterpret_cast<std::uint64_t>(pinned);
  const auto of_both = reinterpret_cast<std::uint64_t>(managed);

  for (const Range& row : std::vector<Range>{
           {"page-locked", page_locked, 5000, true},
           {"page-locked and more", page_locked, 5001, false},
           {"managed", of_both + 1, 4999, true},
           {"managed and more", of_both + 1, 5000, false},
           {"two registered ranges", host_ + 8192, 8192, true},
           {"registered and plain", host_ + 8192, 8193, false},
           {"plain and registered", host_, 8193, false},
           {"plain up to a registered one", host_, 8192, true},
           {"plain", host_ + 16384, 4096, true},
           {"all addresses", host_, kMost, false},
           {"beyond a program's addresses", host_, kUserSpaceEnd, false},
           {"of the kernel", kUserSpaceEnd, 1, false},
           {"from plain memory into the GPU's", 4096, kArenaBegin, false},
       }) {
    EXPECT_EQ(Holds(row.begin, row.bytes), row.is_held) << row.name;
  }
  EXPECT_EQ(RegisterHost(At(host_), kMost, 0), Status::kInvalidValue);
  EXPECT_EQ(RegisterHost(At(kArenaBegin), 4096, 0), Status::kInvalidValue);
  FreeHost(pinned);
  FreeManaged(managed);
  UnregisterHost(At(host_ + 8192));
  UnregisterHost(At(host_ + 12288));
}

TEST_F(ReachTest, RowsAreCountedWithoutOverflow) {
  struct Row {
    std::string name;
    Rows rows;
    std::optional<std::uint64_t> bytes;
    std::optional<std::uint64_t> span;
  };
  for (const Row& row : std::vector<Row>{
           {"one row", {.row_bytes = 5}, 5, 5},
           {"rows", {.row_bytes = 5, .rows = 3, .pitch = 8}, 15, 21},
           {"slices", {5, 3, 2, 8, 32}, 30, 53},
           {"rows that overlap", {.row_bytes = 5, .rows = 2, .pitch = 4}, 10, std::nullopt},
           {"slices that overlap", {5, 3, 2, 8, 20}, 30, std::nullopt},
           {"too many rows", {.row_bytes = 2, .rows = kMost, .pitch = 2}, {}, {}},
           {"a pitch too far", {.row_bytes = 2, .rows = 3, .pitch = kMost}, 6, std::nullopt},
           {"a slice too far", {1, 1, 3, 1, kMost}, 3, std::nullopt},
       }) {
    EXPECT_EQ(BytesOf(row.rows), row.bytes) << row.name;
    EXPECT_EQ(SpanOf(row.rows), row.span) << row.name;
  }
  EXPECT_EQ(BytesOf({.row_bytes = kMost, .rows = 0}), 0u);
  EXPECT_EQ(BytesOf({.row_bytes = 0, .rows = kMost, .slices = kMost}), 0u);
}

// All that a program owns, and the rule for it in other words: the bytes are counted, not walked.
class Model {
 public:
  enum class Kind { kDevice, kMapping, kPageLocked, kRegistered, kManaged };
  struct Piece {
    Kind kind;
    std::uint64_t begin;
    std::uint64_t bytes;
    PoolHandle pool = nullptr;
  };

  bool IsLegal(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t end = begin + bytes;
    if (end < begin) return false;
    std::uint64_t covered = 0;
    std::vector<Kind> met;
    for (const Piece& piece : pieces) {
      const std::uint64_t from = std::max(begin, piece.begin);
      const std::uint64_t to = std::min(end, piece.begin + piece.bytes);
      if (from >= to) continue;
      covered += to - from;
      met.push_back(piece.kind);
    }
    const bool touches_arena = begin < kArenaEnd && end > kArenaBegin;
    if (met.empty()) return !touches_arena && end <= kUserSpaceEnd;
    const bool joins = met[0] == Kind::kMapping || met[0] == Kind::kRegistered;
    return covered == bytes && (met.size() == 1 || joins) &&
           std::all_of(met.begin(), met.end(), [&](Kind kind) { return kind == met[0]; });
  }

  std::vector<Piece> pieces;
};

// Makes and gives up memory of every kind, by chance.
class Owner {
 public:
  Owner(base::Random& random, std::uint64_t host) : random_(random), host_(host) {
    EXPECT_EQ(ReserveAddress(kSlots * kGranuleBytes, 0, 0, &reserved_), Status::kSuccess);
    EXPECT_EQ(CreatePhysical({}, kGranuleBytes, &physical_), Status::kSuccess);
    EXPECT_EQ(CreatePool(0, &pool_), Status::kSuccess);
    SetPoolAttribute(pool_, PoolAttribute::kReleaseThreshold, 64 << 20);
  }
  ~Owner() {
    while (!model.pieces.empty()) GiveUp(0);
    ReleasePhysical(physical_);
    FreeAddress(reserved_, kSlots * kGranuleBytes);
    DestroyPool(pool_);
  }

  void Act() {
    if (!model.pieces.empty() && random_.Below(5) < 2) {
      return GiveUp(random_.Below(model.pieces.size()));
    }
    Make(static_cast<Model::Kind>(random_.Below(5)),
         1 + random_.Below(random_.Below(2) == 0 ? 3000 : 4 << 20));
  }

  // A range that begins or ends near something, or nowhere in particular.
  Model::Piece Guess() {
    static constexpr std::uint64_t kOdd[] = {1, kMost, kMost / 2 + 1, kUserSpaceEnd};
    Model::Piece guess{Model::Kind::kDevice, host_ + random_.Below(kHostBytes), 1};
    if (!model.pieces.empty() && random_.Below(10) != 0) {
      const Model::Piece& piece = model.pieces[random_.Below(model.pieces.size())];
      guess.begin = piece.begin + random_.Below(2) * random_.Below(piece.bytes + 2);
      guess.bytes = piece.begin + piece.bytes - guess.begin + random_.Below(3) - 1;
    }
    if (random_.Below(4) == 0) guess.bytes = 1 + random_.Below(6 << 20);
    if (random_.Below(20) == 0) guess.bytes = kOdd[random_.Below(4)];
    guess.bytes = std::max<std::uint64_t>(guess.bytes, 1);
    return guess;
  }

  Model model;

 private:
  static constexpr std::uint64_t kSlots = 8;

  void Make(Model::Kind kind, std::uint64_t bytes) {
    Model::Piece piece{kind, 0, bytes};
    void* pointer = nullptr;
    switch (kind) {
      case Model::Kind::kDevice:
        if (random_.Below(2) == 0) piece.pool = pool_;
        if (piece.pool != nullptr) {
          ASSERT_EQ(AllocateFromPool(pool_, bytes, nullptr, &piece.begin), Status::kSuccess);
        } else {
          ASSERT_EQ(Allocate(0, bytes, &piece.begin), Status::kSuccess);
        }
        break;
      case Model::Kind::kMapping:
        piece.begin = reserved_ + random_.Below(kSlots) * kGranuleBytes;
        piece.bytes = kGranuleBytes;
        if (Map(piece.begin, piece.bytes, 0, physical_) != Status::kSuccess) return;
        break;
      case Model::Kind::kPageLocked:
        ASSERT_EQ(AllocateHost(bytes, 0, &pointer), Status::kSuccess);
        piece.begin = reinterpret_cast<std::uint64_t>(pointer);
        break;
      case Model::Kind::kManaged:
        ASSERT_EQ(AllocateManaged(bytes, 1, &pointer), Status::kSuccess);
        piece.begin = reinterpret_cast<std::uint64_t>(pointer);
        break;
      case Model::Kind::kRegistered:
        piece.begin = host_ + random_.Below(16) * 4096;
        piece.bytes = (1 + random_.Below(2)) * 4096;
        if (RegisterHost(At(piece.begin), piece.bytes, 0) != Status::kSuccess) return;
        break;
    }
    model.pieces.push_back(piece);
  }

  void GiveUp(std::size_t index) {
    const Model::Piece piece = model.pieces[index];
    model.pieces.erase(model.pieces.begin() + static_cast<std::ptrdiff_t>(index));
    switch (piece.kind) {
      case Model::Kind::kDevice:
        EXPECT_EQ(piece.pool != nullptr ? FreeAsync(piece.begin, nullptr) : Free(piece.begin),
                  Status::kSuccess);
        break;
      case Model::Kind::kMapping:
        EXPECT_EQ(Unmap(piece.begin, piece.bytes), Status::kSuccess);
        break;
      case Model::Kind::kPageLocked:
        EXPECT_EQ(FreeHost(At(piece.begin)), Status::kSuccess);
        break;
      case Model::Kind::kManaged:
        EXPECT_EQ(FreeManaged(At(piece.begin)), Status::kSuccess);
        break;
      case Model::Kind::kRegistered:
        EXPECT_EQ(UnregisterHost(At(piece.begin)), Status::kSuccess);
        break;
    }
  }

  base::Random& random_;
  std::uint64_t host_;
  std::uint64_t reserved_ = 0;
  PhysicalHandle physical_ = 0;
  PoolHandle pool_ = nullptr;
};

TEST_F(ReachTest, ExactlyTheRangesThatAModelAllowsAreHeld) {
  constexpr std::uint64_t kSeed = 16;
  base::Random random(kSeed);
  Owner owner(random, host_);
  int legal = 0;
  int illegal = 0;
  for (int step = 0; step < 400; ++step) {
    owner.Act();
    for (int i = 0; i < 50; ++i) {
      const Model::Piece guess = owner.Guess();
      const bool expected = owner.model.IsLegal(guess.begin, guess.bytes);
      ASSERT_EQ(Holds(guess.begin, guess.bytes), expected)
          << "seed " << kSeed << " step " << step << ": " << guess.bytes << " bytes at 0x"
          << std::hex << guess.begin;
      ++(expected ? legal : illegal);
    }
  }
  EXPECT_GT(legal, 2000);
  EXPECT_GT(illegal, 2000);
}

}  // namespace
}  // namespace eidolon::shim::gpu
