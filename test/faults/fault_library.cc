// Preloaded into a program (LD_PRELOAD): makes chosen system calls fail, or kills the process instead, as
// fault_plan.h specifies. For glibc. fsync() is counted but not done: no power fails here, and it costs milliseconds.
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "test/faults/fault_plan.h"

extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* block, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
}

namespace {

using qkv::Call;

constexpr int max_descriptors = 4096;

struct State {
  const char* folder = nullptr;
  size_t folder_length = 0;
  qkv::FaultReport* report = nullptr;
  int64_t call = -1, at = 0, disk_bytes = -1;
  int error = qkv::kill_process;
  bool lasting = false;
  std::atomic<bool> inside_main{false};
  uintptr_t code_begin = 0, code_end = 0;                    // of the program itself
  std::array<std::atomic<bool>, max_descriptors> watched{};  // descriptors of files in the folder
};

State state;

// The function that the program would have called without this library.
template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool active() { return state.inside_main.load(std::memory_order_relaxed); }

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// Counts the call. True, with errno set, if it must fail.
bool fails(Call call) {
  const int64_t n = state.report->calls[index_of(call)].fetch_add(1) + 1;
  if (state.call != static_cast<int64_t>(index_of(call)) || state.at == 0) return false;
  if (state.lasting ? n < state.at : n != state.at) return false;
  state.report->injected.fetch_add(1);
  if (state.error == qkv::kill_process) die();
  errno = state.error;
  return true;
}

bool watched(int file) {
  return active() && file >= 0 && file < max_descriptors && state.watched[static_cast<size_t>(file)];
}

bool watched(const char* path) {
  if (!active() || path == nullptr) return false;
  char absolute[8192];
  if (path[0] != '/') {
    if (::getcwd(absolute, 4096) == nullptr || std::strlen(path) >= 4096) return false;
    std::strcat(std::strcat(absolute, "/"), path);
    path = absolute;
  }
  const char after = std::strncmp(path, state.folder, state.folder_length) == 0 ? path[state.folder_length] : 'x';
  return after == '/' || after == '\0';
}

// A path relative to the descriptor of a folder, as in openat().
bool watched(int folder, const char* path) {
  return folder == AT_FDCWD || path[0] == '/' ? watched(path) : watched(folder);
}

int watch(int file) {
  if (file >= 0 && file < max_descriptors) state.watched[static_cast<size_t>(file)] = true;
  return file;
}

template <class Open>
int open_file(bool in_folder, Open open) {
  if (!in_folder) return open();
  return fails(Call::open) ? -1 : watch(open());
}

// Shortens write(size) where the simulated disk ends.
template <class Write>
ssize_t write_bytes(int file, size_t wanted, Write write) {
  if (!watched(file)) return write(wanted);
  if (fails(Call::write)) return -1;
  const auto bytes = static_cast<int64_t>(wanted);
  const int64_t before = state.report->written.fetch_add(bytes);
  if (state.disk_bytes < 0 || before + bytes <= state.disk_bytes) return write(wanted);
  const int64_t room = state.disk_bytes - before;
  const ssize_t wrote = room > 0 ? write(static_cast<size_t>(room)) : -1;
  state.report->injected.fetch_add(1);
  if (state.error == qkv::kill_process) die();
  if (room <= 0) errno = state.error;
  return wrote;
}

template <class Allocate>
void* allocated(Allocate allocate) {
  return active() && fails(Call::malloc) ? nullptr : allocate();
}

void* allocated_by(const void* caller, size_t bytes, size_t alignment) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  const bool own = at >= state.code_begin && at < state.code_end;
  if (active() && own && fails(Call::allocate)) throw std::bad_alloc();
  void* const block = alignment == 0 ? std::malloc(bytes) : std::aligned_alloc(alignment, bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// The first object of the list is the program.
int note_code(dl_phdr_info* object, size_t, void*) {
  state.code_begin = object->dlpi_addr;
  for (int i = 0; i < object->dlpi_phnum; ++i)
    if (const auto& part = object->dlpi_phdr[i]; part.p_type == PT_LOAD)
      state.code_end = object->dlpi_addr + part.p_vaddr + part.p_memsz;
  return 1;
}

int64_t number(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoll(text) : otherwise;
}

bool read_plan() {
  state.folder = std::getenv(qkv::fault_variable::folder);
  const int64_t report = number(qkv::fault_variable::report, -1);
  if (state.folder == nullptr || report < 0) return false;
  state.folder_length = std::strlen(state.folder);
  void* shared =
      ::mmap(nullptr, sizeof(qkv::FaultReport), PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(report), 0);
  if (shared == MAP_FAILED) return false;
  state.report = static_cast<qkv::FaultReport*>(shared);
  state.call = number(qkv::fault_variable::call, -1);
  state.at = number(qkv::fault_variable::at, 0);
  state.error = static_cast<int>(number(qkv::fault_variable::error, qkv::kill_process));
  state.lasting = number(qkv::fault_variable::lasting, 0) != 0;
  state.disk_bytes = number(qkv::fault_variable::disk_bytes, -1);
  return true;
}

using Main = int(int, char**, char**);
Main* real_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  ::dl_iterate_phdr(note_code, nullptr);
  state.inside_main = read_plan();
  const int code = real_main(argc, argv, environment);
  state.inside_main = false;
  return code;
}

mode_t mode_of(int flags, va_list rest) { return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return next<Start>(nullptr, "__libc_start_main")(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  static const auto real = next(open, "open");
  return open_file(watched(path), [&] { return real(path, flags, mode); });
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  static const auto real = next(open64, "open64");
  return open_file(watched(path), [&] { return real(path, flags, mode); });
}

int openat(int folder, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = mode_of(flags, rest);
  va_end(rest);
  static const auto real = next(openat, "openat");
  return open_file(watched(folder, path), [&] { return real(folder, path, flags, mode); });
}

DIR* opendir(const char* path) {
  static const auto real = next(opendir, "opendir");
  return watched(path) && fails(Call::open) ? nullptr : real(path);
}

int close(int file) {
  static const auto real = next(close, "close");
  if (!watched(file)) return real(file);
  const bool failing = fails(Call::close);  // as on Linux, the descriptor is gone all the same
  const int error = errno;
  state.watched[static_cast<size_t>(file)] = false;
  const int result = real(file);
  if (!failing) return result;
  errno = error;
  return -1;
}

ssize_t read(int file, void* to, size_t bytes) {
  static const auto real = next(read, "read");
  return watched(file) && fails(Call::read) ? -1 : real(file, to, bytes);
}

ssize_t pread(int file, void* to, size_t bytes, off_t from) {
  static const auto real = next(pread, "pread");
  return watched(file) && fails(Call::read) ? -1 : real(file, to, bytes, from);
}

ssize_t write(int file, const void* from, size_t bytes) {
  static const auto real = next(write, "write");
  return write_bytes(file, bytes, [&](size_t size) { return real(file, from, size); });
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t to) {
  static const auto real = next(pwrite, "pwrite");
  return write_bytes(file, bytes, [&](size_t size) { return real(file, from, size, to); });
}

ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) {
  static const auto real = next(sendfile, "sendfile");
  return write_bytes(to, bytes, [&](size_t size) { return real(to, from, offset, size); });
}

ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t bytes, unsigned flags) {
  static const auto real = next(copy_file_range, "copy_file_range");
  return write_bytes(to, bytes, [&](size_t size) { return real(from, from_offset, to, to_offset, size, flags); });
}

int fsync(int file) {
  static const auto real = next(fsync, "fsync");
  if (!watched(file)) return real(file);
  return fails(Call::fsync) ? -1 : 0;
}

int fdatasync(int file) {
  static const auto real = next(fdatasync, "fdatasync");
  if (!watched(file)) return real(file);
  return fails(Call::fsync) ? -1 : 0;
}

int ftruncate(int file, off_t bytes) noexcept {
  static const auto real = next(ftruncate, "ftruncate");
  return watched(file) && fails(Call::truncate) ? -1 : real(file, bytes);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next(rename, "rename");
  return (watched(from) || watched(to)) && fails(Call::rename) ? -1 : real(from, to);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  static const auto real = next(renameat, "renameat");
  return watched(to_folder, to) && fails(Call::rename) ? -1 : real(from_folder, from, to_folder, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) noexcept {
  static const auto real = next(renameat2, "renameat2");
  return watched(to_folder, to) && fails(Call::rename) ? -1 : real(from_folder, from, to_folder, to, flags);
}

int link(const char* from, const char* to) noexcept {
  static const auto real = next(link, "link");
  return watched(to) && fails(Call::rename) ? -1 : real(from, to);
}

int unlink(const char* path) noexcept {
  static const auto real = next(unlink, "unlink");
  return watched(path) && fails(Call::unlink) ? -1 : real(path);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  static const auto real = next(unlinkat, "unlinkat");
  return watched(folder, path) && fails(Call::unlink) ? -1 : real(folder, path, flags);
}

int remove(const char* path) noexcept {
  static const auto real = next(remove, "remove");
  return watched(path) && fails(Call::unlink) ? -1 : real(path);
}

int rmdir(const char* path) noexcept {
  static const auto real = next(rmdir, "rmdir");
  return watched(path) && fails(Call::unlink) ? -1 : real(path);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next(mkdir, "mkdir");
  return watched(path) && fails(Call::mkdir) ? -1 : real(path, mode);
}

int stat(const char* path, struct stat* status) noexcept {
  static const auto real = next(stat, "stat");
  return watched(path) && fails(Call::stat) ? -1 : real(path, status);
}

int lstat(const char* path, struct stat* status) noexcept {
  static const auto real = next(lstat, "lstat");
  return watched(path) && fails(Call::stat) ? -1 : real(path, status);
}

int fstat(int file, struct stat* status) noexcept {
  static const auto real = next(fstat, "fstat");
  return watched(file) && fails(Call::stat) ? -1 : real(file, status);
}

int access(const char* path, int mode) noexcept {
  static const auto real = next(access, "access");
  return watched(path) && fails(Call::stat) ? -1 : real(path, mode);
}

void* mmap(void* wanted, size_t bytes, int protection, int flags, int file, off_t from) noexcept {
  static const auto real = next(mmap, "mmap");
  return watched(file) && fails(Call::mmap) ? MAP_FAILED : real(wanted, bytes, protection, flags, file, from);
}

void* malloc(size_t bytes) noexcept {
  return allocated([&] { return __libc_malloc(bytes); });
}

void* calloc(size_t count, size_t bytes) noexcept {
  return allocated([&] { return __libc_calloc(count, bytes); });
}

void* realloc(void* block, size_t bytes) noexcept {
  return allocated([&] { return __libc_realloc(block, bytes); });
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return allocated([&] { return __libc_memalign(alignment, bytes); });
}

int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  void* const got = allocated([&] { return __libc_memalign(alignment, bytes); });
  if (got == nullptr) return ENOMEM;
  *block = got;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                   void* argument) noexcept {
  static const auto real = next(pthread_create, "pthread_create");
  return active() && fails(Call::thread) ? errno : real(thread, attributes, work, argument);
}

}  // extern "C"

void* operator new(size_t bytes) { return allocated_by(__builtin_return_address(0), bytes, 0); }

void* operator new[](size_t bytes) { return allocated_by(__builtin_return_address(0), bytes, 0); }

void* operator new(size_t bytes, std::align_val_t alignment) {
  return allocated_by(__builtin_return_address(0), bytes, static_cast<size_t>(alignment));
}

void* operator new[](size_t bytes, std::align_val_t alignment) {
  return allocated_by(__builtin_return_address(0), bytes, static_cast<size_t>(alignment));
}
