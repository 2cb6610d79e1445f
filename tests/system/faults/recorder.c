/* Records what processes write below a folder, and what they have synced: a library that is loaded before all others.
 *
 * Every record is one write to the end of the log, so that those of all processes and threads have one order. A write, a
 * cut, a name is recorded once it has happened; of a sync the beginning and the end, since it says nothing of what is
 * written while it runs. RECORD_ROOT is the folder, without links, RECORD_LOG the log.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    uint32_t kind, thread, path_bytes, other_bytes;
    uint64_t file, offset, data_bytes;
};

static const char *root, *log_path;
static size_t root_bytes;

#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void begin(void) {
    root = getenv("RECORD_ROOT");
    log_path = getenv("RECORD_LOG");
    root_bytes = root ? strlen(root) : 0;
    if (!log_path) root = NULL;
}

static int is_below(const char *path) {
    return root && !strncmp(path, root, root_bytes) && (path[root_bytes] == '/' || !path[root_bytes]);
}

/* The path of an open file; whether it is one below the folder. */
static int path_of(int descriptor, char *path) {
    char link[64];
    if (!root) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t bytes = readlink(link, path, PATH_MAX - 1);
    if (bytes <= 0) return 0;
    path[bytes] = 0;
    return is_below(path);
}

/* A path as it is given to a call, made absolute; whether it is one below the folder. */
static int absolute(int folder, const char *given, char *path) {
    if (!root || !given) return 0;
    if (given[0] == '/') {
        if (strlen(given) >= PATH_MAX) return 0;
        strcpy(path, given);
        return is_below(path);
    }
    if (folder == AT_FDCWD) {
        if (!getcwd(path, PATH_MAX)) return 0;
    } else if (!path_of(folder, path))
        return 0;
    size_t bytes = strlen(path);
    if (bytes + strlen(given) + 2 > PATH_MAX) return 0;
    path[bytes] = '/';
    strcpy(path + bytes + 1, given);
    return is_below(path);
}

static void note(char kind, const char *path, const char *other, uint64_t file, uint64_t offset, const struct iovec *parts,
                 int count, size_t bytes) {
    struct record head = {kind, (uint32_t)syscall(SYS_gettid), strlen(path), strlen(other), file, offset, bytes};
    struct iovec all[64] = {{&head, sizeof head}, {(void *)path, head.path_bytes}, {(void *)other, head.other_bytes}};
    size_t left = bytes;
    int used = 3, saved = errno;
    for (int each = 0; each < count && left; each++) {
        if (used == 64) abort();
        all[used] = parts[each];
        if (all[used].iov_len > left) all[used].iov_len = left;
        left -= all[used++].iov_len;
    }
    size_t total = sizeof head + head.path_bytes + head.other_bytes + bytes;
    int descriptor = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
    /* A record that is missing would make all that is concluded worthless. */
    if (descriptor < 0 || syscall(SYS_writev, descriptor, all, used) != (ssize_t)total) abort();
    syscall(SYS_close, descriptor);
    errno = saved;
}

static uint64_t number_of(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status)) abort();
    return S_ISREG(status.st_mode) ? status.st_ino : 0;
}

static void note_written(int descriptor, const struct iovec *parts, int count, ssize_t bytes, off_t offset) {
    char path[PATH_MAX];
    int saved = errno;
    if (bytes > 0 && path_of(descriptor, path)) {
        uint64_t file = number_of(descriptor);
        if (offset < 0) offset = syscall(SYS_lseek, descriptor, 0, SEEK_CUR) - bytes;
        if (file) note('W', path, "", file, offset, parts, count, bytes);
    }
    errno = saved;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    ssize_t bytes = syscall(SYS_write, descriptor, data, size);
    note_written(descriptor, &(struct iovec){(void *)data, size}, 1, bytes, -1);
    return bytes;
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t offset) {
    ssize_t bytes = syscall(SYS_pwrite64, descriptor, data, size, offset);
    note_written(descriptor, &(struct iovec){(void *)data, size}, 1, bytes, offset);
    return bytes;
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    return pwrite64(descriptor, data, size, offset);
}

ssize_t writev(int descriptor, const struct iovec *parts, int count) {
    ssize_t bytes = syscall(SYS_writev, descriptor, parts, count);
    note_written(descriptor, parts, count, bytes, -1);
    return bytes;
}

ssize_t pwritev64(int descriptor, const struct iovec *parts, int count, off64_t offset) {
    REAL(ssize_t, "pwritev64", int, const struct iovec *, int, off64_t);
    ssize_t bytes = real(descriptor, parts, count, offset);
    note_written(descriptor, parts, count, bytes, offset);
    return bytes;
}

ssize_t pwritev(int descriptor, const struct iovec *parts, int count, off_t offset) {
    return pwritev64(descriptor, parts, count, offset);
}

/* Ways to write that nothing of ours uses: should that change, the test has to learn them. */
static int unheard(int descriptor) {
    char path[PATH_MAX];
    return path_of(descriptor, path);
}

ssize_t sendfile64(int to, int from, off64_t *offset, size_t size) {
    if (unheard(to)) abort();
    return syscall(SYS_sendfile, to, from, offset, size);
}

ssize_t sendfile(int to, int from, off_t *offset, size_t size) { return sendfile64(to, from, offset, size); }

ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *offset, size_t size, unsigned flags) {
    if (unheard(to)) abort();
    return syscall(SYS_copy_file_range, from, at, to, offset, size, flags);
}

int fallocate64(int descriptor, int mode, off64_t offset, off64_t size) {
    if (unheard(descriptor)) abort();
    return syscall(SYS_fallocate, descriptor, mode, offset, size);
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) { return fallocate64(descriptor, mode, offset, size); }

int ftruncate64(int descriptor, off64_t size) {
    char path[PATH_MAX];
    int result = syscall(SYS_ftruncate, descriptor, size);
    if (!result && path_of(descriptor, path)) note('T', path, "", number_of(descriptor), size, NULL, 0, 0);
    return result;
}

int ftruncate(int descriptor, off_t size) { return ftruncate64(descriptor, size); }

static int synced(int descriptor, long call) {
    char path[PATH_MAX];
    if (!path_of(descriptor, path)) return syscall(call, descriptor);
    uint64_t file = number_of(descriptor);
    note(file ? 'B' : 'D', path, "", file, 0, NULL, 0, 0);
    int result = syscall(call, descriptor);
    if (!result) note(file ? 'E' : 'F', path, "", file, 0, NULL, 0, 0);
    return result;
}

int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }

int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }

static int opened(int folder, const char *given, int flags, mode_t mode) {
    char path[PATH_MAX], found[PATH_MAX];
    struct stat status;
    int is_ours = flags & (O_CREAT | O_TRUNC) && (flags & O_TMPFILE) != O_TMPFILE && absolute(folder, given, path);
    int was_there = is_ours && !fstatat(folder, given, &status, 0);
    int descriptor = syscall(SYS_openat, folder, given, flags, mode);
    if (descriptor < 0 || !is_ours) return descriptor;
    if (!was_there && path_of(descriptor, found)) note('C', found, "", number_of(descriptor), 0, NULL, 0, 0);
    if (was_there && flags & O_TRUNC) note('T', path, "", number_of(descriptor), 0, NULL, 0, 0);
    return descriptor;
}

#define OPENS(name) \
    int name(const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(AT_FDCWD, path, flags, mode); \
    }
OPENS(open)
OPENS(open64)

#define OPENS_AT(name) \
    int name(int folder, const char *path, int flags, ...) { \
        va_list more; \
        va_start(more, flags); \
        mode_t mode = va_arg(more, mode_t); \
        va_end(more); \
        return opened(folder, path, flags, mode); \
    }
OPENS_AT(openat)
OPENS_AT(openat64)

static int renamed(int from, const char *old, int to, const char *new, unsigned flags) {
    char before[PATH_MAX] = "", after[PATH_MAX] = "";
    int is_ours = absolute(from, old, before) | absolute(to, new, after);
    int result = syscall(SYS_renameat2, from, old, to, new, flags);
    if (!result && is_ours) note('R', before, after, 0, 0, NULL, 0, 0);
    return result;
}

int rename(const char *old, const char *new) { return renamed(AT_FDCWD, old, AT_FDCWD, new, 0); }

int renameat(int from, const char *old, int to, const char *new) { return renamed(from, old, to, new, 0); }

int renameat2(int from, const char *old, int to, const char *new, unsigned flags) {
    return renamed(from, old, to, new, flags);
}

static int removed(int folder, const char *given, int flags) {
    char path[PATH_MAX];
    int is_ours = absolute(folder, given, path);
    int result = syscall(SYS_unlinkat, folder, given, flags);
    if (!result && is_ours) note('U', path, "", 0, 0, NULL, 0, 0);
    return result;
}

int unlink(const char *path) { return removed(AT_FDCWD, path, 0); }

int unlinkat(int folder, const char *path, int flags) { return removed(folder, path, flags); }

int rmdir(const char *path) { return removed(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdirat(int folder, const char *given, mode_t mode) {
    char path[PATH_MAX];
    int is_ours = absolute(folder, given, path);
    int result = syscall(SYS_mkdirat, folder, given, mode);
    if (!result && is_ours) note('K', path, "", 0, 0, NULL, 0, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off64_t offset) {
    char path[PATH_MAX];
    void *found = (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
    int is_written = descriptor >= 0 && flags & MAP_SHARED && protection & PROT_WRITE;
    if (found != MAP_FAILED && is_written && path_of(descriptor, path)) note('M', path, "", number_of(descriptor), 0, NULL, 0, 0);
    return found;
}

void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
    return mmap64(address, size, protection, flags, descriptor, offset);
}
