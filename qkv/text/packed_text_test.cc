#include "qkv/text/packed_text.h"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/tensors.h"

namespace qkv::packed_text_test {

using Ids = std::vector<int32_t>;
using Spans = std::vector<std::span<const int32_t>>;

Ids numbers(const Tensor& tensor) { return {tensor.span<int32_t>().begin(), tensor.span<int32_t>().end()}; }

// Documents of 0 to `longest` tokens, all tokens different.
struct Documents {
  explicit Documents(int count, uint64_t longest = 40) {
    Random random(5);
    int32_t next = 10;
    for (int i = 0; i < count; ++i) {
      Ids& ids = all.emplace_back(random.below(longest + 1));
      for (int32_t& id : ids) id = next++;
      tokens += static_cast<int64_t>(ids.size());
      written += !ids.empty();
    }
  }
  Spans spans() const { return {all.begin(), all.end()}; }

  std::vector<Ids> all;
  int64_t tokens = 0, written = 0;  // all tokens; the documents that are not empty
};

std::vector<PackedBatch> epoch_of(PackedText& text) {
  std::vector<PackedBatch> batches;
  for (int64_t n = text.batches_in_epoch(); n > 0; --n) batches.push_back(text.next());
  return batches;
}

TEST(PackedText, PacksDocumentsWithoutGapsAndPadsTheLastRow) {
  const std::vector<Ids> three = {{10, 11, 12}, {20}, {30, 31, 32, 33}};
  PackedText text({three.begin(), three.end()}, {.length = 4, .rows = 9, .shuffle = false});
  const PackedBatch batch = text.next();
  EXPECT_EQ(batch.inputs.shape(), (Shape{3, 4}));
  EXPECT_EQ(numbers(batch.inputs), (Ids{10, 11, 12, 2, 20, 2, 30, 31, 32, 33, 2, 0}));
  EXPECT_EQ(numbers(batch.targets), (Ids{11, 12, 2, -1, 2, -1, 31, 32, 33, 2, -1, -1}));
  EXPECT_EQ(numbers(batch.documents), (Ids{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, -1}));
  EXPECT_EQ(numbers(batch.positions), (Ids{0, 1, 2, 3, 0, 1, 0, 1, 0, 1, 2, 0}));
  EXPECT_EQ(batch.input_tokens, 11);
  EXPECT_EQ(batch.target_tokens, 8);
  EXPECT_EQ(text.tokens(), 11);
  EXPECT_EQ(text.rows_in_epoch(), 3);
}

TEST(PackedText, WithoutSeparationEosPredictsTheNextDocument) {
  const std::vector<Ids> two = {{10, 11}, {20}};
  PackedText text({two.begin(), two.end()}, {.length = 3, .shuffle = false, .separate = false});
  const PackedBatch batch = text.next();
  EXPECT_EQ(numbers(batch.inputs), (Ids{10, 11, 2, 20, 2, 0}));
  EXPECT_EQ(numbers(batch.targets), (Ids{11, 2, 20, 2, -1, -1})) << "the last eos of an epoch has no target";
  EXPECT_EQ(numbers(batch.positions), (Ids{0, 1, 2, 0, 1, 0}));
}

TEST(PackedText, BosBeginsEveryDocument) {
  const std::vector<Ids> two = {{10, 11}, {20}};
  const auto pack = [&](bool separate) {
    return PackedText({two.begin(), two.end()},
                      {.length = 7, .shuffle = false, .separate = separate, .bos = Tokenizer::bos})
        .next();
  };
  EXPECT_EQ(numbers(pack(true).inputs), (Ids{1, 10, 11, 2, 1, 20, 2}));
  EXPECT_EQ(numbers(pack(true).targets), (Ids{10, 11, 2, -1, 20, 2, -1}));
  EXPECT_EQ(numbers(pack(false).targets), (Ids{10, 11, 2, 1, 20, 2, -1}));
}

TEST(PackedText, EveryTokenIsAnInputOnceAnEpochAndAllButFirstOnesATarget) {
  const Documents documents(200);
  std::set<int32_t> firsts;
  for (const Ids& ids : documents.all)
    if (!ids.empty()) firsts.insert(ids[0]);
  for (const int64_t length : {1, 7, 64, 100'000}) {
    PackedText text(documents.spans(), {.length = length, .rows = 5});
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(text.position(), (BatchPosition{epoch, 0}));
      std::map<int32_t, int64_t> inputs, targets;
      int64_t input_tokens = 0, target_tokens = 0;
      for (const PackedBatch& batch : epoch_of(text)) {
        for (const int32_t id : numbers(batch.inputs)) ++inputs[id];
        for (const int32_t id : numbers(batch.targets)) ++targets[id];
        input_tokens += batch.input_tokens;
        target_tokens += batch.target_tokens;
      }
      EXPECT_EQ(input_tokens, documents.tokens + documents.written);
      EXPECT_EQ(target_tokens, documents.tokens);
      EXPECT_EQ(inputs[Tokenizer::eos], documents.written);
      EXPECT_EQ(targets[Tokenizer::eos], documents.written);
      EXPECT_LT(inputs[Tokenizer::pad], length);
      for (int32_t id = 10; id < 10 + documents.tokens; ++id) {
        ASSERT_EQ(inputs[id], 1);
        ASSERT_EQ(targets[id], firsts.contains(id) ? 0 : 1);
      }
    }
  }
}

TEST(PackedText, ATargetIsTheTokenAfterItsInput) {
  const Documents documents(100);
  std::map<int32_t, int32_t> after;
  for (const Ids& ids : documents.all)
    for (size_t i = 0; i < ids.size(); ++i) after[ids[i]] = i + 1 < ids.size() ? ids[i + 1] : Tokenizer::eos;
  PackedText text(documents.spans(), {.length = 13, .rows = 4});
  for (const PackedBatch& batch : epoch_of(text)) {
    const Ids inputs = numbers(batch.inputs), targets = numbers(batch.targets);
    for (size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(targets[i], inputs[i] < 10 ? -1 : after[inputs[i]]);
  }
}

TEST(PackedText, DocumentNumbersSeparateTheDocumentsOfARow) {
  const Documents documents(100);
  std::map<int32_t, size_t> document_of;
  for (size_t d = 0; d < documents.all.size(); ++d)
    for (const int32_t id : documents.all[d]) document_of[id] = d;
  PackedText text(documents.spans(), {.length = 50, .rows = 3});
  for (const PackedBatch& batch : epoch_of(text))
    for (int64_t b = 0; b < batch.inputs.dim(0); ++b)
      for (int64_t i = 0; i < 50; ++i)
        for (int64_t j = 0; j < i; ++j) {
          const int32_t x = batch.inputs.at<int32_t>({b, i}), y = batch.inputs.at<int32_t>({b, j});
          if (x < 10 || y < 10) continue;
          const bool same = batch.documents.at<int32_t>({b, i}) == batch.documents.at<int32_t>({b, j});
          ASSERT_EQ(same, document_of[x] == document_of[y]);
        }
}

TEST(PackedText, TheDocumentsMaskKeepsAttentionInsideADocument) {
  const std::vector<Ids> three = {{10, 11, 12, 13}, {20, 21}, {30}};
  PackedText text({three.begin(), three.end()}, {.length = 12, .shuffle = false});
  const PackedBatch batch = text.next();
  const Tensor q = test::random_tensor({1, 2, 12, 8}, 1), k = test::random_tensor({1, 2, 12, 8}, 2),
               v = test::random_tensor({1, 2, 12, 8}, 3);
  const Tensor packed = attention(q, k, v, {.mask = causal() & documents(batch.documents)});
  int64_t begin = 0;
  for (const int64_t length : {5, 3, 2, 2}) {  // with eos; the last ones are padding
    const auto part = [&](const Tensor& x) { return x.slice(2, begin, begin + length); };
    const Tensor alone = attention(part(q), part(k), part(v), {.mask = causal()});
    EXPECT_LT(test::largest_difference(part(packed), alone), 1e-6);
    begin += length;
  }
}

TEST(PackedText, ContinuesFromAnyPositionAsIfItHadNeverStopped) {
  const Documents documents(60);
  for (const bool shuffle : {true, false}) {
    const PackedTextOptions options{.length = 16, .rows = 3, .shuffle = shuffle, .seed = 5};
    PackedText through(documents.spans(), options);
    while (through.position().epoch < 3) {
      const BatchPosition here = through.position();
      const PackedBatch wanted = through.next();
      EXPECT_EQ(wanted.position, here);
      PackedText resumed(documents.spans(), options);
      resumed.seek(here);
      const PackedBatch batch = resumed.next();
      EXPECT_EQ(numbers(batch.inputs), numbers(wanted.inputs));
      EXPECT_EQ(numbers(batch.targets), numbers(wanted.targets));
      EXPECT_EQ(resumed.position(), through.position());
      EXPECT_EQ(numbers(resumed.next().inputs), numbers(PackedText(through).next().inputs));
    }
  }
}

TEST(PackedText, IsShuffledAnewEveryEpochAndForEverySeed) {
  const Documents documents(60);
  const auto epoch = [&](uint64_t seed, int64_t number, bool shuffle) {
    PackedText text(documents.spans(), {.length = 16, .rows = 1000, .shuffle = shuffle, .seed = seed});
    text.seek({number, 0});
    return numbers(text.next().inputs);
  };
  EXPECT_NE(epoch(1, 0, true), epoch(1, 1, true));
  EXPECT_NE(epoch(1, 0, true), epoch(2, 0, true));
  EXPECT_EQ(epoch(1, 0, false), epoch(2, 1, false));
  const int before = threads();
  set_threads(1);
  const Ids one = epoch(1, 0, true);
  set_threads(2);
  EXPECT_EQ(epoch(1, 0, true), one);
  set_threads(before);
}

TEST(PackedText, RowsOfOneLongDocumentAreShuffled) {
  Ids book(1000);
  for (size_t i = 0; i < book.size(); ++i) book[i] = static_cast<int32_t>(10 + i);
  PackedText text({book}, {.length = 10, .rows = 1});
  Ids firsts;
  for (const PackedBatch& batch : epoch_of(text)) firsts.push_back(batch.inputs.at<int32_t>({0, 0}));
  EXPECT_FALSE(std::is_sorted(firsts.begin(), firsts.end()));
}

TEST(PackedText, ErrorsNameTheArgument) {
  const Ids one = {5}, none;
  EXPECT_THROW(PackedText({}, {}), InputError);
  EXPECT_THROW(PackedText({none}, {}), InputError);
  EXPECT_THROW(PackedText({one}, {.length = 0}), UsageError);
  EXPECT_THROW(PackedText({one}, {.rows = 0}), UsageError);
  PackedText text({one}, {});
  EXPECT_THROW(text.seek({0, 1}), InputError);
  EXPECT_THROW(text.seek({-1, 0}), InputError);
  EXPECT_EQ(text.position(), BatchPosition{}) << "a position that is not there changes nothing";
}

}  // namespace qkv::packed_text_test
