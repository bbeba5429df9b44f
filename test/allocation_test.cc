// Each allocation of a piece of work fails once: the work ends with std::bad_alloc, and nothing that was there changes.
// The command as a whole is tested by lost_files_test.cc, with a sample of its allocations.
#include <cstdlib>
#include <functional>
#include <new>

#include <gtest/gtest.h>

#include "qkv/autograd/profile.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/decode/search.h"
#include "qkv/layer/attention_variant.h"
#include "qkv/model/transformer.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/linear.h"
#include "qkv/op/norm.h"
#include "qkv/op/shape.h"

namespace qkv::allocation_test {

thread_local int64_t allocations = 0, failing = 0;  // the number of the one that fails, from 1; 0: none

void* allocate(size_t bytes) {
  void* const block = ++allocations == failing ? nullptr : std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

int64_t allocations_of(const std::function<void()>& work) {
  const int64_t before = allocations;
  work();
  return allocations - before;
}

// How many allocations the work has, each of which has failed.
int64_t fail_each_allocation(const std::function<void()>& work) {
  work();  // what is made once, at the first use
  const int64_t count = allocations_of(work);
  for (int64_t n = 1; n <= count; ++n) {
    bool failed = false;
    failing = allocations + n;
    try {
      work();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    failing = 0;
    EXPECT_TRUE(failed) << "allocation " << n << " of " << count;
  }
  return count;
}

const char* const text =
    R"({"a tensor with a long name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
                             "values": [true, null, -1, 2.5, "a string that is not short", {"empty": {}, "list": []}]})";

TEST(EveryAllocationMayFail, OfReadingJson) {
  EXPECT_GT(fail_each_allocation([] { Json::parse(text); }), 20);
}

TEST(EveryAllocationMayFail, OfCopyingAndChangingJson) {
  const Json json = Json::parse(text), before = json;
  Json assigned = {1, 2};
  const auto work = [&] {
    Json copy = json;
    copy["a new member, the third"] = {{"shape", json["values"]}, {"offsets", {1, "text that is not short"}}};
    assigned = copy;
    assigned = nullptr;
  };
  EXPECT_GT(fail_each_allocation(work), 40);
  EXPECT_EQ(json, before);
}

TEST(EveryAllocationMayFail, OfWritingJson) {
  const Json json = Json::parse(text);
  EXPECT_GT(fail_each_allocation([&] { json.dump(2); }), 20);
}

TEST(Json, LookingUpAMemberOrAnItemAllocatesNothing) {
  const Json json = Json::parse(text);
  EXPECT_EQ(allocations_of([&] { json.at("values")[4].text(); }), 0);
}

// Every layer makes variants; their messages, which have all arguments in them, are not made ahead of errors.
TEST(AttentionVariant, IsCheckedWithoutItsText) {
  const int64_t of_text = allocations_of([] { to_string(*mechanism_of(Rotary{})); });
  EXPECT_LT(allocations_of([] { AttentionVariant(Rotary{}); }), 2 * of_text);
}

TEST(OpScope, AllocatesNothingOutsideOfAProfile) {
  const Tensor x = Tensor::full({2, 3}, 0.5f);
  EXPECT_EQ(allocations_of([&] {
              const OpScope scope("op", OpWork::moves(x, 2));
              count_work(OpWork::product(2, 3, 4));
            }),
            0);
}

// A decoding step has hundreds of ops. Their results are in the pool of tensors.
TEST(Op, AllocatesNothingWhereNothingIsRecorded) {
  const auto leaf = [](const Shape& shape) { return Variable(Tensor::full(shape, 0.5f), {.requires_grad = true}); };
  const Variable x = leaf({2, 3, 8}), w = leaf({8, 8}), b = leaf({8});
  const Weight packed = Weight::packed(w.value(), WeightFormat::int8);
  const std::pair<const char*, std::function<Variable()>> ops[] = {
      {"linear", [&] { return linear(x, packed, b); }},
      {"layer_norm", [&] { return layer_norm(x, b, b); }},
      {"rms_norm", [&] { return rms_norm(x, b); }},
      {"add", [&] { return add(x, x); }},
      {"relu", [&] { return relu(x); }},
      {"reshape",
       [&] {
         return reshape(x, {6, 8});
       }},
      {"split_heads", [&] { return split_heads(x, 2); }},
  };
  const NoGrad guard;
  for (const auto& [name, op] : ops) {
    op();
    EXPECT_EQ(allocations_of([&, &run = op] { run(); }), 0) << name;
  }
  linear<2>(x, {{{packed, b}, {packed, {}}}});
  EXPECT_EQ(allocations_of([&] { linear<2>(x, {{{packed, b}, {packed, {}}}}); }), 0);
}

// What a search needs in its first steps is used again by the later ones: between two lengths at which nothing grows, such as
// 20 and 31, there is no allocation.
TEST(Search, AStepAllocatesNothing) {
  const Transformer model({.source_vocabulary = 50,
                           .target_vocabulary = 50,
                           .d_model = 16,
                           .heads = 2,
                           .ffn = 32,
                           .encoder_layers = 2,
                           .decoder_layers = 2,
                           .max_positions = 64},
                          1);
  const std::vector<int32_t> lengths = {4, 3};
  const Tensor source = Tensor::from(std::vector<int32_t>{5, 6, 7, 8, 9, 5, 4, 0}, {2, 4});
  set_threads(1);
  for (const int64_t beam : {1, 4})
    for (const bool scores : {true, false}) {
      const auto of_length = [&](int64_t length) {
        const SearchOptions options = {
            .beam = beam, .eos_at_max_length = false, .min_length = length, .max_length = length, .scores = scores};
        return allocations_of([&] {
          for (const auto& found : search(model, source, lengths, options))
            EXPECT_EQ(std::ssize(found.front().ids), length);
        });
      };
      of_length(31);
      EXPECT_EQ(of_length(31), of_length(20)) << "beam " << beam << ", scores " << scores;
    }
}

}  // namespace qkv::allocation_test

void* operator new(size_t bytes) { return qkv::allocation_test::allocate(bytes); }
void* operator new[](size_t bytes) { return qkv::allocation_test::allocate(bytes); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }
