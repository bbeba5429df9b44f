#include "qkv/base/collectives.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// Calls visit(to, from) for every other rank once, so that all exchanges of a step happen at the same time.
template <class Visit>
void for_each_other(const Communicator& c, Visit visit) {
  for (int step = 1; step < c.size(); ++step)
    visit((c.rank() + step) % c.size(), (c.rank() - step + c.size()) % c.size());
}

std::vector<Shard> equal_shards(const Communicator& c, int64_t count) {
  std::vector<Shard> shards;
  for (int rank = 0; rank < c.size(); ++rank) shards.push_back(shard_of(count, rank, c.size()));
  return shards;
}

void check(const Communicator& c, const Elements& numbers, std::span<const Shard> shards) {
  require(std::ssize(shards) == c.size(), "collectives", "there must be a shard for each of {} ranks, got {}",
          c.size(), shards.size());
  for (const Shard& s : shards)
    require(s.begin >= 0 && s.begin <= s.end && s.end <= numbers.count(), "collectives",
            "a shard must be in 0 to {}, got {} to {}", numbers.count(), s.begin, s.end);
}

MutableBytes part(const Elements& numbers, int64_t begin, int64_t end) {
  return numbers.bytes.subspan(static_cast<size_t>(begin * numbers.width),
                               static_cast<size_t>((end - begin) * numbers.width));
}

Elements floats(std::span<float> numbers) { return {std::as_writable_bytes(numbers), sizeof(float)}; }

constexpr auto add_floats = [](MutableBytes sum, Bytes term) {
  auto* to = reinterpret_cast<float*>(sum.data());
  const auto* from = reinterpret_cast<const float*>(term.data());
  for (size_t i = 0; i < sum.size() / sizeof(float); ++i) to[i] += from[i];
};

}  // namespace

Shard shard_of(int64_t n, int rank, int size) {
  const int64_t whole = n / size, rest = n % size;
  const auto begin = [&](int64_t r) { return whole * r + std::min(r, rest); };
  return {begin(rank), begin(rank + 1)};
}

// Every rank sends each other rank the part of its shard, and adds up in the order of the tree what it gets. A few
// megabytes at a time, which is all the memory that it takes.
void reduce_scatter(Communicator& c, const Elements& numbers, std::span<const Shard> shards,
                    FunctionRef<void(MutableBytes sum, Bytes term)> add) {
  check(c, numbers, shards);
  constexpr int64_t max_received = int64_t{1} << 21;
  const int ranks = c.size();
  const int64_t own = shards[static_cast<size_t>(c.rank())].size(),
                step = std::max<int64_t>(1, max_received / ranks);
  int64_t longest = 0;
  for (const Shard& shard : shards) longest = std::max(longest, shard.size());
  const int64_t width = std::min(step, own) * numbers.width;  // bytes
  std::vector<std::byte> received(static_cast<size_t>(ranks > 1 ? width * ranks : 0));
  const auto part_of = [&](int rank, int64_t at) {
    const Shard whole = shards[static_cast<size_t>(rank)];
    const int64_t begin = std::min(whole.begin + at, whole.end), end = std::min(begin + step, whole.end);
    return part(numbers, begin, end);
  };
  for (int64_t at = 0; ranks > 1 && at < longest; at += step) {
    const MutableBytes mine = part_of(c.rank(), at);
    const auto row = [&](int rank) {
      return MutableBytes(received).subspan(static_cast<size_t>(rank * width), mine.size());
    };
    std::copy(mine.begin(), mine.end(), row(c.rank()).begin());
    for_each_other(c, [&](int to, int from) { c.exchange(to, part_of(to, at), from, row(from)); });
    add_in_tree(ranks, [&](int to, int from) { add(row(to), row(from)); });
    std::copy_n(row(0).begin(), mine.size(), mine.begin());
  }
}

void all_gather(Communicator& c, const Elements& numbers, std::span<const Shard> shards) {
  check(c, numbers, shards);
  const auto of = [&](int rank) {
    const Shard p = shards[static_cast<size_t>(rank)];
    return part(numbers, p.begin, p.end);
  };
  for_each_other(c, [&](int to, int from) { c.exchange(to, of(c.rank()), from, of(from)); });
}

void reduce_scatter(Communicator& c, std::span<float> numbers, std::span<const Shard> shards) {
  reduce_scatter(c, floats(numbers), shards, add_floats);
}

void all_gather(Communicator& c, std::span<float> numbers, std::span<const Shard> shards) {
  all_gather(c, floats(numbers), shards);
}

void reduce_scatter(Communicator& c, std::span<float> numbers) {
  reduce_scatter(c, numbers, equal_shards(c, std::ssize(numbers)));
}

void all_gather(Communicator& c, std::span<float> numbers) {
  all_gather(c, numbers, equal_shards(c, std::ssize(numbers)));
}

void all_reduce(Communicator& c, std::span<float> numbers) {
  reduce_scatter(c, numbers);
  all_gather(c, numbers);
}

std::vector<int64_t> all_gather_number(Communicator& c, int64_t mine) {
  std::vector<int64_t> all(static_cast<size_t>(c.size()), mine);
  for_each_other(c, [&](int to, int from) {
    c.exchange(to, bytes_of(std::span(&mine, 1)), from,
               writable_bytes_of(std::span(all).subspan(static_cast<size_t>(from), 1)));
  });
  return all;
}

std::vector<std::vector<std::byte>> all_gather_bytes(Communicator& c, Bytes mine) {
  const std::vector<int64_t> sizes = all_gather_number(c, static_cast<int64_t>(mine.size()));
  std::vector<std::vector<std::byte>> all(static_cast<size_t>(c.size()));
  all[static_cast<size_t>(c.rank())].assign(mine.begin(), mine.end());
  for_each_other(c, [&](int to, int from) {
    auto& theirs = all[static_cast<size_t>(from)];
    theirs.resize(static_cast<size_t>(sizes[static_cast<size_t>(from)]));
    c.exchange(to, mine, from, theirs);
  });
  return all;
}

}  // namespace qkv
