/* A disk that can be cut off, run full or fail, under a process that does not know: preloaded, it
 * keeps what is written to files PAWL_DISK_DIR/pawl.db* in memory, and lets it reach the files only
 * when they are synced. So kill -9 is a power cut.
 *
 * Reads, sizes and later opens in the process see what was written. Of what is not synced, random
 * sectors reach the file early (LEAK): at the cut any part of it may be there, torn and in any
 * order. A sync that fails does what Linux does: some sectors were written, the others count as
 * clean and are never written again, though the process goes on reading them (until it is cut off).
 * Creating, deleting and renaming files is durable at once; the -shm index is left alone, since it
 * is mapped and rebuilt after a crash.
 *
 * PAWL_DISK_CONTROL names a file of 8 int64, mapped and read at every operation:
 *   0  1: growing a file takes from [1], and fails with ENOSPC when that is used up
 *   1  bytes that are left
 *   2  one of so many writes fails with EIO (0: none)      3  the same for syncs
 *   4  1: syncs say ok and do nothing (a disk that lies)   5  of 1000 sectors, how many leak early
 *   6  errors given so far (counted here)                  7  syncs done so far (counted here)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { SECTOR = 512, FILES_MAX = 64, FDS_MAX = 65536 };
enum { LIMITED, BYTES_LEFT, WRITE_EIO, SYNC_EIO, LIES, LEAK, ERRORS, SYNCS };

typedef struct {
  dev_t dev;
  ino_t ino;
  int fd; /* ours, kept open: closing one would drop the process's locks on the file */
  int refs;
  int unlinked;
  unsigned char* data;
  unsigned char* dirty; /* by sector */
  size_t size, capacity;
} File;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static File files[FILES_MAX];
static File* by_fd[FDS_MAX];
static char directory[4096];
static volatile int64_t none[8];
static volatile int64_t* control = none;
static uint64_t chance_state;

/* The function behind ours, looked up once per place. */
#define REAL(name)                                         \
  ({                                                       \
    static __typeof__(&name) behind;                       \
    if (behind == NULL) *(void**)&behind = real_of(#name); \
    behind;                                                \
  })
static void* real_of(const char* name) { return dlsym(RTLD_NEXT, name); }

static uint64_t chance(void) { /* splitmix64 */
  uint64_t z = (chance_state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

__attribute__((constructor)) static void start(void) {
  const char* wanted = getenv("PAWL_DISK_DIR");
  if (wanted == NULL) return;
  strncpy(directory, wanted, sizeof directory - 1);
  const char* path = getenv("PAWL_DISK_CONTROL");
  if (path != NULL) {
    int fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
    void* at = fd < 0 ? MAP_FAILED : mmap(NULL, 64, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) control = at;
  }
  chance_state = (uint64_t)getpid() * 0x2545f4914f6cdd1du;
}

static int is_ours(const char* path) {
  size_t length = strlen(directory);
  if (length == 0 || path == NULL || strncmp(path, directory, length) != 0) return 0;
  const char* name = path + length;
  size_t left = strlen(name);
  if (strncmp(name, "/pawl.db", 8) != 0) return 0;
  return left < 4 || strcmp(name + left - 4, "-shm") != 0;
}

static File* find(dev_t dev, ino_t ino) {
  for (int i = 0; i < FILES_MAX; ++i)
    if (files[i].data != NULL && files[i].ino == ino && files[i].dev == dev) return &files[i];
  return NULL;
}

static void reserve(File* file, size_t size) {
  if (size <= file->capacity) return;
  size_t capacity = file->capacity;
  while (capacity < size) capacity *= 2;
  file->data = realloc(file->data, capacity);
  file->dirty = realloc(file->dirty, capacity / SECTOR);
  if (file->data == NULL || file->dirty == NULL) abort();
  memset(file->data + file->capacity, 0, capacity - file->capacity);
  memset(file->dirty + file->capacity / SECTOR, 0, (capacity - file->capacity) / SECTOR);
  file->capacity = capacity;
}

/* Takes over a file that was just opened as fd; what is on disk now is what survives. */
static void adopt(int fd, const char* path) {
  struct stat is;
  if (fd < 0 || fd >= FDS_MAX || REAL(fstat)(fd, &is) != 0 || !S_ISREG(is.st_mode)) return;
  File* file = find(is.st_dev, is.st_ino);
  for (int i = 0; file == NULL && i < FILES_MAX; ++i) {
    if (files[i].data != NULL) continue;
    file = &files[i];
    *file = (File){.dev = is.st_dev, .ino = is.st_ino, .capacity = 1 << 20};
    file->fd = REAL(open)(path, O_RDWR | O_CLOEXEC);
    file->data = calloc(1, file->capacity);
    file->dirty = calloc(1, file->capacity / SECTOR);
    if (file->fd < 0 || file->data == NULL || file->dirty == NULL) abort();
    file->size = (size_t)is.st_size;
    reserve(file, file->size);
    for (size_t at = 0; at < file->size;) {
      ssize_t got = REAL(pread)(file->fd, file->data + at, file->size - at, (off_t)at);
      if (got <= 0) abort();
      at += (size_t)got;
    }
  }
  if (file == NULL) abort();
  ++file->refs;
  by_fd[fd] = file;
}

static void give_up(File* file) { /* unlinked and closed */
  REAL(close)(file->fd);
  free(file->data);
  free(file->dirty);
  *file = (File){0};
}

static void put_sector(File* file, size_t sector) {
  size_t at = sector * SECTOR;
  size_t bytes = file->size - at < SECTOR ? file->size - at : SECTOR;
  if (REAL(pwrite)(file->fd, file->data + at, bytes, (off_t)at) != (ssize_t)bytes) abort();
}

static int fails(int which) {
  if (control[which] == 0 || chance() % (uint64_t)control[which] != 0) return 0;
  __sync_fetch_and_add(&control[ERRORS], 1);
  errno = EIO;
  return 1;
}

static int take_room(File* file, size_t size) {
  if (!control[LIMITED] || size <= file->size) return 1;
  int64_t more = (int64_t)(size - file->size);
  if (__sync_sub_and_fetch(&control[BYTES_LEFT], more) >= 0) return 1;
  __sync_fetch_and_add(&control[BYTES_LEFT], more);
  __sync_fetch_and_add(&control[ERRORS], 1);
  errno = ENOSPC;
  return 0;
}

static ssize_t put(File* file, const void* from, size_t bytes, size_t at) {
  if (fails(WRITE_EIO) || !take_room(file, at + bytes)) return -1;
  reserve(file, at + bytes);
  memcpy(file->data + at, from, bytes);
  if (at + bytes > file->size) file->size = at + bytes;
  for (size_t s = at / SECTOR; bytes > 0 && s <= (at + bytes - 1) / SECTOR; ++s) {
    file->dirty[s] = 1;
    if (chance() % 1000 < (uint64_t)control[LEAK]) put_sector(file, s);
  }
  return (ssize_t)bytes;
}

static int shorten(File* file, size_t size) {
  if (size > file->size && !take_room(file, size)) return -1;
  if (size < file->size && control[LIMITED])
    __sync_fetch_and_add(&control[BYTES_LEFT], (int64_t)(file->size - size));
  reserve(file, size);
  if (size < file->size) memset(file->data + size, 0, file->size - size);
  for (size_t s = (size + SECTOR - 1) / SECTOR; s * SECTOR < file->size; ++s) file->dirty[s] = 0;
  file->size = size;
  if (chance() % 1000 < (uint64_t)control[LEAK]) return REAL(ftruncate)(file->fd, (off_t)size);
  return 0;
}

static int sync_file(File* file) {
  int failed = fails(SYNC_EIO);
  if (control[LIES] && !failed) return 0;
  size_t sectors = (file->size + SECTOR - 1) / SECTOR;
  for (size_t s = 0; s < sectors; ++s) {
    if (!file->dirty[s]) continue;
    file->dirty[s] = 0;
    if (!failed || chance() % 2 == 0) put_sector(file, s);
  }
  if (failed) return errno = EIO, -1;
  struct stat is;
  if (REAL(fstat)(file->fd, &is) != 0) abort();
  if ((size_t)is.st_size != file->size && REAL(ftruncate)(file->fd, (off_t)file->size) != 0)
    abort();
  __sync_fetch_and_add(&control[SYNCS], 1);
  return 0;
}

static File* file_of(int fd) { return fd >= 0 && fd < FDS_MAX ? by_fd[fd] : NULL; }

/* --- what the process calls */

static int opened(int fd, const char* path, int flags) {
  if (fd < 0 || !is_ours(path)) return fd;
  pthread_mutex_lock(&mutex);
  adopt(fd, path);
  if ((flags & O_TRUNC) != 0) (void)!shorten(by_fd[fd], 0);
  pthread_mutex_unlock(&mutex);
  return fd;
}

#define OPEN_LIKE(name)                                                                           \
  int name(const char* path, int flags, ...) {                                                    \
    va_list more;                                                                                 \
    va_start(more, flags);                                                                        \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(more, mode_t) : 0;                     \
    va_end(more);                                                                                 \
    int real_flags = is_ours(path) ? flags & ~O_TRUNC : flags;                                    \
    return opened(((int (*)(const char*, int, ...))real_of(#name))(path, real_flags, mode), path, \
                  flags);                                                                         \
  }
OPEN_LIKE(open)
OPEN_LIKE(open64)

int close(int fd) {
  pthread_mutex_lock(&mutex);
  File* file = file_of(fd);
  if (file != NULL) {
    by_fd[fd] = NULL;
    if (--file->refs == 0 && file->unlinked) give_up(file);
  }
  pthread_mutex_unlock(&mutex);
  return REAL(close)(fd);
}

static ssize_t get(File* file, void* into, size_t bytes, off_t from) {
  size_t at = (size_t)from;
  if (at >= file->size) return 0;
  if (bytes > file->size - at) bytes = file->size - at;
  memcpy(into, file->data + at, bytes);
  return (ssize_t)bytes;
}

#define LOCKED(type, expression)      \
  pthread_mutex_lock(&mutex);         \
  File* file = file_of(fd);           \
  if (file != NULL) {                 \
    type result = (type)(expression); \
    pthread_mutex_unlock(&mutex);     \
    return result;                    \
  }                                   \
  pthread_mutex_unlock(&mutex)

ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  LOCKED(ssize_t, get(file, into, bytes, at));
  return REAL(pread)(fd, into, bytes, at);
}
ssize_t pread64(int fd, void* into, size_t bytes, off64_t at) { return pread(fd, into, bytes, at); }
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t at) {
  LOCKED(ssize_t, put(file, from, bytes, (size_t)at));
  return REAL(pwrite)(fd, from, bytes, at);
}
ssize_t pwrite64(int fd, const void* from, size_t bytes, off64_t at) {
  return pwrite(fd, from, bytes, at);
}
ssize_t read(int fd, void* into, size_t bytes) {
  if (file_of(fd) == NULL) return REAL(read)(fd, into, bytes);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t got = pread(fd, into, bytes, at);
  if (got > 0) lseek(fd, at + got, SEEK_SET);
  return got;
}
ssize_t write(int fd, const void* from, size_t bytes) {
  if (file_of(fd) == NULL) return REAL(write)(fd, from, bytes);
  off_t at = lseek(fd, 0, SEEK_CUR);
  ssize_t put_bytes = pwrite(fd, from, bytes, at);
  if (put_bytes > 0) lseek(fd, at + put_bytes, SEEK_SET);
  return put_bytes;
}
int ftruncate(int fd, off_t size) {
  LOCKED(int, shorten(file, (size_t)size));
  return REAL(ftruncate)(fd, size);
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }
int fsync(int fd) {
  LOCKED(int, sync_file(file));
  return REAL(fsync)(fd);
}
int fdatasync(int fd) {
  LOCKED(int, sync_file(file));
  return REAL(fdatasync)(fd);
}

static void note_unlinked(const char* path) {
  struct stat is;
  if (!is_ours(path) || REAL(stat)(path, &is) != 0) return;
  pthread_mutex_lock(&mutex);
  File* file = find(is.st_dev, is.st_ino);
  if (file != NULL) {
    if (control[LIMITED]) __sync_fetch_and_add(&control[BYTES_LEFT], (int64_t)file->size);
    file->unlinked = 1;
    if (file->refs == 0) give_up(file);
  }
  pthread_mutex_unlock(&mutex);
}
int unlink(const char* path) {
  note_unlinked(path);
  return REAL(unlink)(path);
}
int rename(const char* from, const char* to) {
  note_unlinked(to);
  return REAL(rename)(from, to);
}

static void see_size(struct stat* is) {
  pthread_mutex_lock(&mutex);
  File* file = directory[0] == '\0' ? NULL : find(is->st_dev, is->st_ino);
  if (file != NULL) is->st_size = (off_t)file->size;
  pthread_mutex_unlock(&mutex);
}
#define STAT_LIKE(name, type, what)                                                      \
  int name(what, struct type* is) {                                                      \
    int code = ((int (*)(__typeof__(WHAT_##name), struct type*))real_of(#name))(of, is); \
    if (code == 0) see_size((struct stat*)is);                                           \
    return code;                                                                         \
  }
#define WHAT_fstat (int)0
#define WHAT_fstat64 (int)0
#define WHAT_stat (const char*)0
#define WHAT_stat64 (const char*)0
STAT_LIKE(fstat, stat, int of)
STAT_LIKE(fstat64, stat64, int of)
STAT_LIKE(stat, stat, const char* of)
STAT_LIKE(stat64, stat64, const char* of)

static void see_room(const char* path, struct statvfs* disk) {
  if (!control[LIMITED] || path == NULL || strncmp(path, directory, strlen(directory)) != 0) return;
  disk->f_bfree = disk->f_bavail = (fsblkcnt_t)((uint64_t)control[BYTES_LEFT] / disk->f_frsize);
}
int statvfs(const char* path, struct statvfs* disk) {
  int code = REAL(statvfs)(path, disk);
  if (code == 0) see_room(path, disk);
  return code;
}
int statvfs64(const char* path, struct statvfs64* disk) {
  int code = REAL(statvfs64)(path, disk);
  if (code == 0) see_room(path, (struct statvfs*)disk);
  return code;
}
