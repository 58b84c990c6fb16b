#include "services/testing/faulty_disk.h"

#include <sqlite3.h>

#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "services/base/check.h"

namespace eidolon::testing {

struct FaultyDisk::State {
  // True: this one fails.
  bool Take(int* budget) {
    const std::lock_guard lock(mutex);
    if (*budget == 0) return false;
    if (*budget > 0) --*budget;
    ++failures;
    errno = EIO;
    return true;
  }
  void Give(int* budget, int times) {
    const std::lock_guard lock(mutex);
    *budget = times;
  }
  void WaitWhileHanging() {
    std::unique_lock lock(mutex);
    ++hanging;
    changed.wait(lock, [this] { return !hangs; });
    --hanging;
  }

  sqlite3_vfs vfs{};
  sqlite3_vfs* real = nullptr;

  mutable std::mutex mutex;  // Guards what follows.
  std::condition_variable changed;
  int full = 0;
  int writes = 0;
  int syncs = 0;
  int opens = 0;
  int failures = 0;
  int hanging = 0;
  bool hangs = false;
};

namespace {

constexpr char kName[] = "faulty-disk";

template <typename State>
struct File {
  sqlite3_file base;  // First: SQLite knows no more.
  State* state;

  static File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
  // SQLite asked for space for both.
  static sqlite3_file* RealOf(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(Of(file) + 1);
  }

  static int Close(sqlite3_file* file) { return RealOf(file)->pMethods->xClose(RealOf(file)); }
  static int Read(sqlite3_file* file, void* to, int count, sqlite3_int64 offset) {
    return RealOf(file)->pMethods->xRead(RealOf(file), to, count, offset);
  }
  static int Write(sqlite3_file* file, const void* from, int count, sqlite3_int64 offset) {
    State& state = *Of(file)->state;
    state.WaitWhileHanging();
    if (state.Take(&state.full)) return SQLITE_FULL;
    if (state.Take(&state.writes)) return SQLITE_IOERR_WRITE;
    return RealOf(file)->pMethods->xWrite(RealOf(file), from, count, offset);
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    return RealOf(file)->pMethods->xTruncate(RealOf(file), size);
  }
  static int Sync(sqlite3_file* file, int flags) {
    State& state = *Of(file)->state;
    state.WaitWhileHanging();
    if (state.Take(&state.syncs)) return SQLITE_IOERR_FSYNC;
    return RealOf(file)->pMethods->xSync(RealOf(file), flags);
  }
  static int FileSize(sqlite3_file* file, sqlite3_int64* size) {
    return RealOf(file)->pMethods->xFileSize(RealOf(file), size);
  }
  static int Lock(sqlite3_file* file, int level) {
    return RealOf(file)->pMethods->xLock(RealOf(file), level);
  }
  static int Unlock(sqlite3_file* file, int level) {
    return RealOf(file)->pMethods->xUnlock(RealOf(file), level);
  }
  static int CheckReservedLock(sqlite3_file* file, int* held) {
    return RealOf(file)->pMethods->xCheckReservedLock(RealOf(file), held);
  }
  static int Control(sqlite3_file* file, int operation, void* argument) {
    return RealOf(file)->pMethods->xFileControl(RealOf(file), operation, argument);
  }
  static int SectorSize(sqlite3_file* file) {
    return RealOf(file)->pMethods->xSectorSize(RealOf(file));
  }
  static int Characteristics(sqlite3_file* file) {
    return RealOf(file)->pMethods->xDeviceCharacteristics(RealOf(file));
  }

  // Version 1 has no shared memory: a database that is not opened for one connection alone fails.
  static constexpr sqlite3_io_methods kMethods = {1,
                                                  Close,
                                                  Read,
                                                  Write,
                                                  Truncate,
                                                  Sync,
                                                  FileSize,
                                                  Lock,
                                                  Unlock,
                                                  CheckReservedLock,
                                                  Control,
                                                  SectorSize,
                                                  Characteristics,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr,
                                                  nullptr};

  static int Open(sqlite3_vfs* vfs, sqlite3_filename name, sqlite3_file* file, int flags,
                  int* out_flags) {
    auto* state = static_cast<State*>(vfs->pAppData);
    file->pMethods = nullptr;
    if (state->Take(&state->opens)) return SQLITE_CANTOPEN;
    Of(file)->state = state;
    const int code = state->real->xOpen(state->real, name, RealOf(file), flags, out_flags);
    if (code == SQLITE_OK) file->pMethods = &kMethods;
    return code;
  }
};

}  // namespace

FaultyDisk::FaultyDisk() : state_(std::make_unique<State>()) {
  using DiskFile = File<State>;
  CHECK(sqlite3_initialize() == SQLITE_OK && sqlite3_vfs_find(kName) == nullptr);
  state_->real = sqlite3_vfs_find(nullptr);
  // The real one's functions take either: they look at nothing but these fields.
  state_->vfs = *state_->real;
  state_->vfs.pNext = nullptr;
  state_->vfs.zName = kName;
  state_->vfs.szOsFile = static_cast<int>(sizeof(DiskFile)) + state_->real->szOsFile;
  state_->vfs.pAppData = state_.get();
  state_->vfs.xOpen = DiskFile::Open;
  CHECK(sqlite3_vfs_register(&state_->vfs, /*makeDflt=*/1) == SQLITE_OK);
}

FaultyDisk::~FaultyDisk() {
  Heal();
  sqlite3_vfs_unregister(&state_->vfs);
  sqlite3_vfs_register(state_->real, /*makeDflt=*/1);
}

void FaultyDisk::FillUp(int times) { state_->Give(&state_->full, times); }
void FaultyDisk::FailWrites(int times) { state_->Give(&state_->writes, times); }
void FaultyDisk::FailSyncs(int times) { state_->Give(&state_->syncs, times); }
void FaultyDisk::FailOpens(int times) { state_->Give(&state_->opens, times); }

void FaultyDisk::Hang() {
  const std::lock_guard lock(state_->mutex);
  state_->hangs = true;
}

void FaultyDisk::Heal() {
  const std::lock_guard lock(state_->mutex);
  state_->full = state_->writes = state_->syncs = state_->opens = 0;
  state_->hangs = false;
  state_->changed.notify_all();
}

int FaultyDisk::hanging() const {
  const std::lock_guard lock(state_->mutex);
  return state_->hanging;
}

int FaultyDisk::failures() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failures;
}

}  // namespace eidolon::testing
