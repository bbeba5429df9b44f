// Sums and collections over all ranks of a communicator. Every rank calls them, with ranges of the same length.
//
//     all_reduce(c, gradients);                                   // every rank: the sum over the ranks
//
//     reduce_scatter(c, gradients);                               // the same in two halves: first the own shard of the sum,
//     update(parameters, gradients, shard_of(n, c.rank(), c.size()));
//     all_gather(c, parameters);                                  // then the shards of all
//
// The sum over the ranks of a number is one binary tree, whose lower levels add neighbours: ((x0 + x1) + (x2 + x3)) + x4.
// So partial sums of 2^a ranks are sums of 2^b ranks each: where each rank sums its own part in the same way, the bits
// are the same for 1, 2, 4, ... ranks. They depend neither on timing nor on the implementation of the communicator.
// Cost   n numbers, N ranks: each half sends n (N - 1) / N numbers from every rank.
// Errors those of Communicator::exchange(); among them ranges of different lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/base/communicator.h"
#include "qkv/base/threads.h"

namespace qkv {

struct Shard {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
// The shard of [0, n) that belongs to a rank: equal ones in the order of the ranks, up to one element.
Shard shard_of(int64_t n, int rank, int size);

// numbers[shard] becomes its sum over the ranks; other numbers are as before.
void reduce_scatter(Communicator& c, std::span<float> numbers);

// numbers[shard] of every rank become those of all.
void all_gather(Communicator& c, std::span<float> numbers);

void all_reduce(Communicator& c, std::span<float> numbers);

// The same with shards of any lengths, in the order of the ranks.
void reduce_scatter(Communicator& c, std::span<float> numbers, std::span<const Shard> shards);
void all_gather(Communicator& c, std::span<float> numbers, std::span<const Shard> shards);

// The same with numbers of another type, such as bf16, as their bytes: of `width` bytes each, add(sum, term) being sum += term of
// some of them.
struct Elements {
  MutableBytes bytes;
  int64_t width = 0;
  int64_t count() const { return static_cast<int64_t>(bytes.size()) / width; }
};
void reduce_scatter(Communicator& c, const Elements& numbers, std::span<const Shard> shards,
                    FunctionRef<void(MutableBytes sum, Bytes term)> add);
void all_gather(Communicator& c, const Elements& numbers, std::span<const Shard> shards);

// The bytes of every rank, in the order of the ranks; they may differ in length.
std::vector<std::vector<std::byte>> all_gather_bytes(Communicator& c, Bytes mine);

// A number of every rank, in the order of the ranks.
std::vector<int64_t> all_gather_number(Communicator& c, int64_t mine);

// sum(0) + ... + sum(count - 1) in the binary tree above: result(i, j) makes i the sum of both.
template <class Add>
void add_in_tree(int count, Add add) {
  for (int distance = 1; distance < count; distance *= 2)
    for (int i = 0; i + distance < count; i += 2 * distance) add(i, i + distance);
}

}  // namespace qkv
