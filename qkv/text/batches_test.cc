#include "qkv/text/batches.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::batches_test {

using Ids = std::vector<int32_t>;

// Sentences of random length; the ids of a pair name it.
EncodedCorpus corpus(int pairs, int64_t longest = 30) {
  Random random(3);
  EncodedCorpus out;
  for (int i = 0; i < pairs; ++i) {
    const auto target = 1 + random.below(static_cast<uint64_t>(longest));
    const auto source = std::max<uint64_t>(1, target + random.below(5) - 2 * (target > 2));
    out.add(Ids(source, 4 + i), Ids(target, 4 + i));
  }
  return out;
}

std::vector<Batch> epoch_of(BatchStream& stream) {
  std::vector<Batch> batches;
  for (int64_t n = stream.batches_in_epoch(); n > 0; --n) batches.push_back(stream.next());
  return batches;
}

std::vector<int64_t> pairs_of(const std::vector<Batch>& batches) {
  std::vector<int64_t> pairs;
  for (const Batch& batch : batches) pairs.insert(pairs.end(), batch.pairs.begin(), batch.pairs.end());
  return pairs;
}

TEST(BatchStream, PadsRowsWithTheSpecialTokensInTheirPlaces) {
  EncodedCorpus two;
  two.add(Ids{10, 11, 12}, Ids{20});
  two.add(Ids{13}, Ids{21, 22});
  const Batch batch = BatchStream(two, {.order = BatchOrder::as_given}).next();
  const auto rows = [](const Tensor& tensor) {
    return Ids(tensor.span<int32_t>().begin(), tensor.span<int32_t>().end());
  };
  EXPECT_EQ(batch.source.shape(), (Shape{2, 4}));
  EXPECT_EQ(rows(batch.source), (Ids{10, 11, 12, 2, 13, 2, 0, 0}));
  EXPECT_EQ(rows(batch.target_in), (Ids{1, 20, 0, 1, 21, 22}));
  EXPECT_EQ(rows(batch.target_out), (Ids{20, 2, -1, 21, 22, 2}));
  EXPECT_EQ(batch.source_lengths, (Ids{4, 2}));
  EXPECT_EQ(batch.target_lengths, (Ids{2, 3}));
  EXPECT_EQ(batch.source_tokens, 6);
  EXPECT_EQ(batch.target_tokens, 5);
  EXPECT_EQ(batch.pairs, (std::vector<int64_t>{0, 1}));
}

struct NamedOrder {
  BatchOrder order;
  const char* name;
};
void PrintTo(const NamedOrder& order, std::ostream* out) { *out << order.name; }
class EveryOrder : public testing::TestWithParam<NamedOrder> {};
INSTANTIATE_TEST_SUITE_P(Batch, EveryOrder,
                         testing::Values(NamedOrder{BatchOrder::bucketed, "bucketed"},
                                         NamedOrder{BatchOrder::shuffled, "shuffled"},
                                         NamedOrder{BatchOrder::sorted, "sorted"},
                                         NamedOrder{BatchOrder::as_given, "as_given"}),
                         [](const auto& order) { return std::string(order.param.name); });

TEST_P(EveryOrder, GivesEveryPairOnceAnEpoch) {
  const EncodedCorpus all = corpus(1000);
  BatchStream stream(all, {.batch_tokens = 200, .order = GetParam().order, .pool = 170});
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(stream.position(), (BatchPosition{epoch, 0}));
    auto pairs = pairs_of(epoch_of(stream));
    std::sort(pairs.begin(), pairs.end());
    ASSERT_EQ(pairs.size(), 1000u);
    for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(pairs[static_cast<size_t>(i)], i);
  }
}

TEST_P(EveryOrder, KeepsBothSidesOfABatchWithinItsTokens) {
  const EncodedCorpus all = corpus(1000);
  BatchStream stream(all, {.batch_tokens = 150, .order = GetParam().order, .pool = 300});
  for (const Batch& batch : epoch_of(stream)) {
    EXPECT_LE(batch.source.numel(), 150);
    EXPECT_LE(batch.target_out.numel(), 150);
  }
}

TEST_P(EveryOrder, ContinuesFromAnyPositionAsIfItHadNeverStopped) {
  const EncodedCorpus all = corpus(500);
  const BatchOptions options{.batch_tokens = 100, .order = GetParam().order, .seed = 5, .pool = 200};
  BatchStream through(all, options);
  for (int i = 0; i < 300; ++i) {
    const BatchPosition here = through.position();
    const Batch wanted = through.next();
    EXPECT_EQ(wanted.position, here);
    if (i % 13) continue;
    BatchStream resumed(all, options);
    resumed.seek(here);
    EXPECT_EQ(resumed.position(), here);
    const Batch batch = resumed.next();
    EXPECT_EQ(batch.pairs, wanted.pairs);
    EXPECT_TRUE(std::ranges::equal(batch.source.span<int32_t>(), wanted.source.span<int32_t>()));
    EXPECT_EQ(resumed.position(), through.position());
    EXPECT_EQ(resumed.next().pairs, BatchStream(through).next().pairs);
  }
  EXPECT_GE(through.position().epoch, 1);
}

TEST_P(EveryOrder, HasAFixedNumberOfSentencesPerBatch) {
  const EncodedCorpus all = corpus(130);
  BatchStream stream(all, {.batch_tokens = 1, .sentences = 64, .order = GetParam().order});
  std::multiset<size_t> sizes;
  for (const Batch& batch : epoch_of(stream)) sizes.insert(batch.pairs.size());
  EXPECT_EQ(sizes, (std::multiset<size_t>{2, 64, 64}));
}

TEST(BatchStream, IsShuffledAnewEveryEpochAndForEverySeed) {
  const EncodedCorpus all = corpus(300);
  for (const BatchOrder order : {BatchOrder::bucketed, BatchOrder::shuffled}) {
    BatchStream stream(all, {.batch_tokens = 100, .order = order, .seed = 1});
    BatchStream other(all, {.batch_tokens = 100, .order = order, .seed = 2});
    const auto first = pairs_of(epoch_of(stream));
    EXPECT_NE(pairs_of(epoch_of(stream)), first);
    EXPECT_NE(pairs_of(epoch_of(other)), first);
  }
}

TEST(BatchStream, IsNotShuffledForValidation) {
  const EncodedCorpus all = corpus(300);
  BatchStream given(all, {.batch_tokens = 100, .order = BatchOrder::as_given});
  const auto pairs = pairs_of(epoch_of(given));
  EXPECT_TRUE(std::is_sorted(pairs.begin(), pairs.end()));
  BatchStream sorted(all, {.batch_tokens = 100, .order = BatchOrder::sorted});
  const auto first = pairs_of(epoch_of(sorted));
  EXPECT_EQ(pairs_of(epoch_of(sorted)), first);
  EXPECT_TRUE(std::is_sorted(first.begin(), first.end(),
                             [&](int64_t a, int64_t b) { return all.target(a).size() < all.target(b).size(); }));
}

TEST(BatchStream, PutsSentencesOfSimilarLengthTogether) {
  const EncodedCorpus all = corpus(5000);
  int64_t tokens = 0, places = 0;
  BatchStream stream(all, {.batch_tokens = 500});
  for (const Batch& batch : epoch_of(stream)) {
    tokens += batch.target_tokens + batch.source_tokens;
    places += batch.target_out.numel() + batch.source.numel();
  }
  EXPECT_GT(static_cast<double>(tokens) / static_cast<double>(places), 0.9);
}

TEST(BatchStream, GivesALongSentenceABatchOfItsOwn) {
  EncodedCorpus three;
  three.add(Ids(2, 5), Ids(2, 5));
  three.add(Ids(2, 6), Ids(50, 6));
  three.add(Ids(50, 7), Ids(2, 7));
  BatchStream stream(three, {.batch_tokens = 20, .order = BatchOrder::as_given});
  EXPECT_EQ(epoch_of(stream).size(), 3u);
}

TEST(BatchStream, RejectsInvalidOptions) {
  const EncodedCorpus all = corpus(10), none;
  EXPECT_THROW(BatchStream{none}, InputError);
  EXPECT_THROW(BatchStream(all, {.batch_tokens = 0}), UsageError);
  EXPECT_THROW(BatchStream(all, {.sentences = -1}), UsageError);
  EXPECT_THROW(BatchStream(all, {.pool = 0}), UsageError);
  BatchStream stream(all);
  EXPECT_THROW(stream.seek({-1, 0}), InputError);
  EXPECT_THROW(stream.seek({0, 5}), InputError);
  EXPECT_EQ(stream.position(), BatchPosition{}) << "a position that is not there changes nothing";
}

// Sentences of a few words that a vocabulary of pairs of letters merges.
struct Words {
  Words() {
    Random random(5);
    std::vector<std::string> sentences(300);
    for (std::string& sentence : sentences)
      for (int word = 0; word < 6; ++word)
        sentence += std::vector<std::string>{"abab ", "abba ", "cdcd ", "dcab "}[random.below(4)];
    tokenizer = Tokenizer::train(sentences, {.type = TokenizerType::bpe, .vocabulary_size = 24});
    for (const std::string& sentence : sentences)
      corpus.add(tokenizer->encode(sentence), tokenizer->encode(sentence));
    options = {.batch_tokens = 300,
               .source_dropout = BpeDropout(*tokenizer, 0.3),
               .target_dropout = BpeDropout(*tokenizer, 0.3)};
  }
  std::optional<Tokenizer> tokenizer;
  EncodedCorpus corpus;
  BatchOptions options;
};

Ids row(const Tensor& ids, size_t at, int32_t length) {
  const auto all =
      ids.span<int32_t>().subspan(at * static_cast<size_t>(ids.shape()[1]), static_cast<size_t>(length));
  return {all.begin(), all.end()};
}

TEST(BatchStream, BpeDropoutGivesOtherTokensOfTheSameTextInEveryEpoch) {
  const Words words;
  BatchStream stream(words.corpus, words.options);
  std::vector<Ids> first(300), second(300);
  for (std::vector<Ids>* sources : {&first, &second})
    for (const Batch& batch : epoch_of(stream))
      for (size_t i = 0; i < batch.pairs.size(); ++i) {
        const int64_t pair = batch.pairs[i];
        Ids source = row(batch.source, i, batch.source_lengths[i] - 1);
        const Ids target = row(batch.target_out, i, batch.target_lengths[i] - 1);
        const auto given = words.corpus.source(pair);
        const std::string text = words.tokenizer->decode(given);
        EXPECT_EQ(words.tokenizer->decode(source), text);
        EXPECT_EQ(words.tokenizer->decode(target), text);
        (*sources)[static_cast<size_t>(pair)] = std::move(source);
      }
  EXPECT_NE(first, second);
  stream.seek({0, 3});
  const Batch again = stream.next();
  for (size_t i = 0; i < again.pairs.size(); ++i)
    EXPECT_EQ(row(again.source, i, again.source_lengths[i] - 1), first[static_cast<size_t>(again.pairs[i])]);
}

TEST(BatchStream, BpeDropoutKeepsTheTokensOfSentencesThatWouldBecomeTooLong) {
  Words words;
  words.options.max_length = 1;
  BatchStream stream(words.corpus, words.options);
  const Batch batch = stream.next();
  for (size_t i = 0; i < batch.pairs.size(); ++i) {
    const auto given = words.corpus.source(batch.pairs[i]);
    EXPECT_EQ(row(batch.source, i, batch.source_lengths[i] - 1), Ids(given.begin(), given.end()));
  }
}

}  // namespace qkv::batches_test
