#include "qkv/base/scratch.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "qkv/base/integers.h"

namespace qkv {
namespace {

constexpr std::align_val_t alignment{64};

struct Release {
  void operator()(float* p) const { ::operator delete(p, alignment); }
};

struct Chunk {
  std::unique_ptr<float, Release> memory;
  int64_t size = 0;
};

// A stack of chunks: a full chunk is never moved, because callers hold pointers into it.
struct Stack {
  std::vector<Chunk> chunks;
  int64_t chunk = 0, used = 0;
};

thread_local Stack stack;

}  // namespace

Scratch::Scratch() : chunk_(stack.chunk), used_(stack.used) {}

Scratch::~Scratch() {
  stack.chunk = chunk_;
  stack.used = used_;
}

float* Scratch::floats(int64_t count) {
  count = rounded_up(count, 16);
  while (stack.chunk < static_cast<int64_t>(stack.chunks.size())) {
    const Chunk& chunk = stack.chunks[static_cast<size_t>(stack.chunk)];
    if (stack.used + count <= chunk.size) {
      float* p = chunk.memory.get() + stack.used;
      stack.used += count;
      return p;
    }
    ++stack.chunk;
    stack.used = 0;
  }
  const int64_t size = std::max<int64_t>(count, int64_t{1} << (16 + std::min<size_t>(stack.chunks.size(), 10)));
  auto* memory = static_cast<float*>(::operator new(static_cast<size_t>(size) * sizeof(float), alignment));
  stack.chunks.push_back({std::unique_ptr<float, Release>(memory), size});
  stack.used = count;
  return memory;
}

}  // namespace qkv
