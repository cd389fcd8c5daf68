#include "tests/support/failing_disk.h"

#include <sqlite3.h>

#include <new>

namespace octavo {
namespace {

constexpr const char* kName = "octavo-failing-disk";

// What SQLite takes for a file: this, with the real file behind it in the same block of memory.
struct File {
    sqlite3_file base;
    FailingDisk* disk;
    sqlite3_file* real;
};

File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
sqlite3_file* real(sqlite3_file* file) { return of(file).real; }

sqlite3_vfs* real_vfs() { return sqlite3_vfs_find("unix"); }

int write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
    sqlite3_int64 size = 0;
    if (const int code = real(file)->pMethods->xFileSize(real(file), &size); code != SQLITE_OK) return code;
    const int64_t growth = offset + bytes - size;
    if (growth > 0 && !of(file).disk->take(growth)) return SQLITE_FULL;
    return real(file)->pMethods->xWrite(real(file), data, bytes, offset);
}

int close(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }

const sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = close,
    .xRead = [](sqlite3_file* f, void* d, int n,
                sqlite3_int64 o) { return real(f)->pMethods->xRead(real(f), d, n, o); },
    .xWrite = write,
    .xTruncate = [](sqlite3_file* f, sqlite3_int64 n) { return real(f)->pMethods->xTruncate(real(f), n); },
    .xSync = [](sqlite3_file* f, int flags) { return real(f)->pMethods->xSync(real(f), flags); },
    .xFileSize = [](sqlite3_file* f, sqlite3_int64* n) { return real(f)->pMethods->xFileSize(real(f), n); },
    .xLock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xLock(real(f), level); },
    .xUnlock = [](sqlite3_file* f, int level) { return real(f)->pMethods->xUnlock(real(f), level); },
    .xCheckReservedLock = [](sqlite3_file* f, int* out) { return real(f)->pMethods->xCheckReservedLock(real(f), out); },
    // Size hints would let a file grow unseen.
    .xFileControl =
        [](sqlite3_file* f, int op, void* argument) {
            if (op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_OK;
            return real(f)->pMethods->xFileControl(real(f), op, argument);
        },
    .xSectorSize = [](sqlite3_file* f) { return real(f)->pMethods->xSectorSize(real(f)); },
    .xDeviceCharacteristics = [](sqlite3_file* f) { return real(f)->pMethods->xDeviceCharacteristics(real(f)); },
    .xShmMap = [](sqlite3_file* f, int region, int bytes, int extend,
                  void volatile** out) { return real(f)->pMethods->xShmMap(real(f), region, bytes, extend, out); },
    .xShmLock = [](sqlite3_file* f, int offset, int n,
                   int flags) { return real(f)->pMethods->xShmLock(real(f), offset, n, flags); },
    .xShmBarrier = [](sqlite3_file* f) { real(f)->pMethods->xShmBarrier(real(f)); },
    .xShmUnmap = [](sqlite3_file* f, int remove) { return real(f)->pMethods->xShmUnmap(real(f), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* memory, int flags, int* out_flags) {
    File& file = *new (memory) File{};
    file.disk = static_cast<FailingDisk*>(vfs->pAppData);
    file.real = reinterpret_cast<sqlite3_file*>(&file + 1);
    const int code = real_vfs()->xOpen(real_vfs(), name, file.real, flags, out_flags);
    if (code == SQLITE_OK) file.base.pMethods = &kMethods;
    return code;
}

}  // namespace

FailingDisk::FailingDisk() : vfs_(std::make_unique<sqlite3_vfs>(*real_vfs())) {
    vfs_->zName = kName;
    vfs_->pNext = nullptr;
    vfs_->pAppData = this;
    vfs_->szOsFile = static_cast<int>(sizeof(File)) + real_vfs()->szOsFile;
    vfs_->xOpen = open;
    // The others work on names alone; they only have to be handed their own layer.
    vfs_->xDelete = [](sqlite3_vfs*, const char* name, int sync) {
        return real_vfs()->xDelete(real_vfs(), name, sync);
    };
    vfs_->xAccess = [](sqlite3_vfs*, const char* name, int flags, int* out) {
        return real_vfs()->xAccess(real_vfs(), name, flags, out);
    };
    vfs_->xFullPathname = [](sqlite3_vfs*, const char* name, int bytes, char* out) {
        return real_vfs()->xFullPathname(real_vfs(), name, bytes, out);
    };
    sqlite3_vfs_register(vfs_.get(), 0);
}

FailingDisk::~FailingDisk() { sqlite3_vfs_unregister(vfs_.get()); }

const char* FailingDisk::name() const { return kName; }

bool FailingDisk::take(int64_t bytes) {
    const int64_t free = free_bytes_;
    if (free == kUnlimited) return true;
    if (free < bytes) return false;
    free_bytes_ = free - bytes;
    return true;
}

}  // namespace octavo
