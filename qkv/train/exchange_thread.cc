#include "qkv/train/exchange_thread.h"

#include <algorithm>
#include <utility>

#include "qkv/train/gradient_exchange.h"
#include "qkv/train/touched_blocks.h"

namespace qkv {
namespace {

constexpr int64_t part_size = int64_t{1} << 20;  // numbers

// Those of a shard that are in a part, counted from its beginning.
Shard cut(const Shard& shard, const Shard& part) {
  const auto inside = [&](int64_t at) { return std::clamp(at, part.begin, part.end) - part.begin; };
  return {inside(shard.begin), inside(shard.end)};
}

}  // namespace

ExchangeThread::ExchangeThread(Communicator& c, GradientTree& tree, GradientFormat format,
                               std::span<const Shard> shards)
    : c_(c), tree_(tree), format_(format), shards_(shards), part_of_(tree.parameters()) {
  for (size_t last = tree.parameters(); last > 0;) {
    Part part{.first = last, .last = last};
    while (part.first > 0 && tree.part(part.first, last).size() < part_size) part_of_[--part.first] = parts_.size();
    part.missing = part.last - part.first;
    last = part.first;
    parts_.push_back(part);
  }
  thread_ = std::jthread([this] { run(); });
}

ExchangeThread::~ExchangeThread() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  waiting_.clear();
  changed_.notify_all();
}

void ExchangeThread::complete(size_t parameter) {
  --parts_[part_of_[parameter]].missing;
  send_complete_parts();
}

void ExchangeThread::finish() {
  for (Part& part : parts_) part.missing = 0;
  send_complete_parts();
  tree_.end_piece();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }
  thread_.join();
  if (error_) std::rethrow_exception(error_);
}

void ExchangeThread::send_complete_parts() {
  for (; next_ < parts_.size() && parts_[next_].missing == 0; ++next_) {
    const Part& part = parts_[next_];
    Message message{.place = tree_.part(part.first, part.last), .numbers = tree_.add_part(part.first, part.last)};
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(message));
    changed_.notify_all();
  }
}

void ExchangeThread::run() {
  for (;;) {
    Message message;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      message = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      exchange(message);
    } catch (...) {
      error_ = std::current_exception();  // finish() joins before it reads it
      return;
    }
  }
}

void ExchangeThread::exchange(Message& message) {
  const TouchedBlocks touched(c_, message.numbers);
  Tensor numbers = touched.pack(message.numbers);
  if (shards_.empty()) {
    all_reduce(c_, numbers, format_);
  } else {
    std::vector<Shard> shards;
    for (const Shard& shard : shards_) shards.push_back(touched.packed(cut(shard, message.place)));
    reduce_scatter(c_, numbers, format_, shards);
  }
  touched.unpack(numbers, message.numbers);
}

}  // namespace qkv
