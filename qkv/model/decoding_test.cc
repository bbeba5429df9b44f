// Decoding against the whole pass: prompts of unequal length, rows that join, leave, are repeated and permuted.
#include "qkv/model/decoding.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/layer/layer_test.h"
#include "qkv/model/make_model.h"
#include "qkv/model/transformer.h"

namespace qkv::decoding_test {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int64_t vocabulary = 11;

TransformerConfig small() {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = vocabulary;
  c.d_model = 16, c.heads = 4, c.kv_heads = 2, c.ffn = 24;
  c.encoder_layers = 1, c.decoder_layers = 2;
  c.max_positions = 60;
  return c;
}

RecurrentConfig small(Architecture architecture, int64_t encoder_layers, int64_t decoder_layers,
                      const AttentionPattern& attention = {}) {
  return {.architecture = architecture,
          .source_vocabulary = vocabulary,
          .target_vocabulary = vocabulary,
          .d_model = 16,
          .encoder_layers = encoder_layers,
          .decoder_layers = decoder_layers,
          .cross_attention = attention};
}

struct Case {
  Case(const char* name_, void (*change)(TransformerConfig&)) : name(name_) {
    TransformerConfig c = small();
    change(c);
    config = c;
  }
  Case(const char* name_, const RecurrentConfig& recurrent) : name(name_), config(recurrent) {}

  const char* name;
  ModelConfig config;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// The tokens of a row, and the pieces in which the model was given them.
struct Row {
  int64_t sentence;
  std::vector<Ids> pieces;
  Ids all() const {
    Ids ids;
    for (const Ids& piece : pieces) ids.insert(ids.end(), piece.begin(), piece.end());
    return ids;
  }
};

class DecodingOf : public testing::TestWithParam<Case> {
 protected:
  DecodingOf() : any_(make_model(GetParam().config)), model_(dynamic_cast<EncoderDecoder&>(*any_)) {
    model_.visit("", [stream = 0](const std::string&, Variable& p) mutable {
      p.mutable_value().copy_from(random_tensor(p.shape(), static_cast<uint64_t>(++stream), 0.3));
    });
  }
  Ids source_of(int64_t sentence) const {
    Random random(9, static_cast<uint64_t>(sentence));
    Ids ids(1 + random.below(7));
    for (int32_t& id : ids) id = static_cast<int32_t>(random.below(vocabulary));
    return ids;
  }
  Encoded encode(const std::vector<int64_t>& sentences) const {
    std::vector<int32_t> lengths;
    for (const int64_t s : sentences) lengths.push_back(static_cast<int32_t>(source_of(s).size()));
    const int64_t S = *std::max_element(lengths.begin(), lengths.end());
    Tensor ids = Tensor::zeros({static_cast<int64_t>(sentences.size()), S}, DType::i32);
    for (size_t b = 0; b < sentences.size(); ++b) {
      const Ids source = source_of(sentences[b]);
      std::copy(source.begin(), source.end(), ids.data<int32_t>() + static_cast<int64_t>(b) * S);
    }
    Pass pass;
    return model_.encode(ids, lengths, pass);
  }
  // The logits after the last token, from the whole pass and from the same pieces without other rows.
  Tensor whole(const Row& row) const {
    const Ids ids = row.all();
    const auto T = static_cast<int64_t>(ids.size());
    Pass pass;
    const Tensor hidden = model_.decode(Tensor::from(ids, {1, T}), encode({row.sentence}), pass).value();
    return model_.logits(hidden.slice(1, T - 1, T).contiguous_copy()).value().reshape({1, vocabulary});
  }
  Tensor alone(const Row& row) const {
    const std::unique_ptr<Decoding> rows = model_.start(encode({row.sentence}));
    Pass pass;
    Tensor logits;
    for (const Ids& piece : row.pieces) logits = rows->extend(std::vector<Ids>{piece}, pass);
    return logits;
  }

  std::unique_ptr<Model> any_;
  EncoderDecoder& model_;
};

TEST_P(DecodingOf, RowsThatComeAndGoAreThoseOfTheWholePass) {
  const NoGrad guard;
  Random random(1, 2);
  const auto below = [&](size_t n) { return static_cast<size_t>(random.below(n)); };
  std::vector<Row> rows;
  std::unique_ptr<Decoding> decoding;
  const auto join = [&](const std::vector<int64_t>& sentences) {
    std::unique_ptr<Decoding> more = model_.start(encode(sentences));
    for (const int64_t s : sentences) rows.push_back({s, {}});
    if (!decoding)
      decoding = std::move(more);
    else
      decoding->join(*more);
  };
  Pass pass;
  join({0, 1, 2});
  for (int step = 0; step < 14; ++step) {
    // One sentence gets as many tokens in all of its rows; now and then a sentence gets several, as a prompt.
    std::vector<Ids> tokens;
    for (size_t r = 0; r < rows.size(); ++r) {
      const bool same = r > 0 && rows[r].sentence == rows[r - 1].sentence;
      Ids piece(same ? tokens.back().size() : below(4) == 0 ? 1 + below(5) : 1);
      for (int32_t& id : piece) id = static_cast<int32_t>(below(vocabulary));
      rows[r].pieces.push_back(piece);
      tokens.push_back(std::move(piece));
    }
    const Tensor logits = decoding->extend(tokens, pass);
    ASSERT_EQ(logits.shape(), (Shape{static_cast<int64_t>(rows.size()), vocabulary}));
    for (size_t r = 0; r < rows.size(); ++r) {
      const Tensor own = logits.slice(0, static_cast<int64_t>(r), static_cast<int64_t>(r) + 1);
      EXPECT_LT(largest_difference(own, whole(rows[r])), 1e-5) << "step " << step << " row " << r;
      EXPECT_TRUE(same_bits(own.contiguous_copy(), alone(rows[r]))) << "step " << step << " row " << r;
      EXPECT_EQ(decoding->position(static_cast<int64_t>(r)), static_cast<int64_t>(rows[r].all().size()));
    }
    // Drop, repeat or permute: any rows, grouped by sentence.
    std::vector<int64_t> source;
    for (size_t r = 0; r < rows.size(); ++r)
      for (size_t copies = below(5) == 0 ? 0 : below(4) == 0 ? 2 : 1; copies > 0; --copies)
        source.push_back(static_cast<int64_t>(r));
    if (source.empty()) source = {0};
    if (step % 5 == 4) std::reverse(source.begin(), source.end());
    while (source.size() > 9) source.pop_back();
    std::vector<Row> chosen;
    for (const int64_t r : source) chosen.push_back(rows[static_cast<size_t>(r)]);
    decoding->reorder(source);
    rows = std::move(chosen);
    if (below(3) == 0) join({static_cast<int64_t>(3 + 2 * step), static_cast<int64_t>(4 + 2 * step)});
  }
}

TEST_P(DecodingOf, CachesOfFewerBitsGiveAlmostTheSame) {
  const NoGrad guard;
  const std::vector<Row> rows = {{0, {{5}, {3, 7, 9}, {2}, {1}}}, {1, {{8}, {2, 4, 6}, {5}, {3}}}};
  for (const auto& [format, bound] : {std::pair(CacheFormat::bf16, 0.02f), std::pair(CacheFormat::int8, 0.05f)}) {
    any_->set_cache_format(format);
    const std::unique_ptr<Decoding> decoding = model_.start(encode({0, 1}));
    Pass pass;
    Tensor logits;
    for (size_t piece = 0; piece < 4; ++piece)
      logits = decoding->extend(std::vector<Ids>{rows[0].pieces[piece], rows[1].pieces[piece]}, pass);
    for (int64_t r = 0; r < 2; ++r) {
      const Tensor own = logits.slice(0, r, r + 1).contiguous_copy();
      EXPECT_LT(largest_difference(own, whole(rows[static_cast<size_t>(r)])), bound) << name_of(format);
      EXPECT_TRUE(same_bits(own, alone(rows[static_cast<size_t>(r)]))) << name_of(format);
    }
    any_->set_cache_format(CacheFormat::f32);
    const bool has_caches = !any_->config().is_recurrent();
    EXPECT_EQ(same_bits(logits.slice(0, 0, 1).contiguous_copy(), alone(rows[0])), !has_caches) << name_of(format);
  }
}

// Rows are given tokens of which the last ones are wrong, and go back to those that are right.
TEST_P(DecodingOf, SeveralTokensAtOnceHaveTheBitsOfOneByOne) {
  const NoGrad guard;
  constexpr size_t rounds = 6, limit = 5;
  const std::vector<Ids> prompts = {{5}, {3, 7, 9}, {2, 4}};
  for (const CacheFormat format : {CacheFormat::f32, CacheFormat::bf16, CacheFormat::int8}) {
    any_->set_cache_format(format);
    Random random(3, 4);
    const auto below = [&](size_t n) { return static_cast<size_t>(random.below(n)); };
    const auto one = model_.start(encode({0, 1, 2})), several = model_.start(encode({0, 1, 2}));
    Pass pass;
    one->extend(prompts, pass), several->extend(prompts, pass);
    std::vector<Ids> next;  // of all rows, at every step
    std::vector<Tensor> expected;
    for (size_t step = 0; step < rounds * limit; ++step) {
      next.push_back({});
      for (size_t r = 0; r < 3; ++r) next.back().push_back(static_cast<int32_t>(below(vocabulary)));
      expected.push_back(one->extend(next.back(), pass));
    }
    std::vector<size_t> done(3);
    for (size_t round = 0; round < rounds; ++round) {
      std::vector<Ids> tokens(3);
      std::vector<size_t> right(3);
      std::vector<int64_t> lengths;
      for (size_t r = 0; r < 3; ++r) {
        const auto row = static_cast<int64_t>(r);
        const size_t at_once = std::min(limit, static_cast<size_t>(several->max_at_once(row)));
        right[r] = 1 + below(at_once);
        for (size_t i = 0; i < right[r]; ++i) tokens[r].push_back(next[done[r] + i][r]);
        tokens[r].resize(right[r] + below(at_once - right[r] + 1), 10);
        lengths.push_back(several->position(row) + static_cast<int64_t>(right[r]));
      }
      const Tensor logits = several->extend_each(tokens, pass);
      int64_t at = 0;
      for (size_t r = 0; r < 3; at += std::ssize(tokens[r++]))
        for (int64_t i = 0; i < static_cast<int64_t>(right[r]); ++i, ++done[r]) {
          const auto row = static_cast<int64_t>(r);
          EXPECT_TRUE(same_bits(logits.slice(0, at + i, at + i + 1), expected[done[r]].slice(0, row, row + 1)))
              << name_of(format) << " row " << r << " token " << done[r];
        }
      several->truncate(lengths);
      for (size_t r = 0; r < 3; ++r) EXPECT_EQ(several->position(static_cast<int64_t>(r)), lengths[r]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, DecodingOf,
    testing::Values(
        Case{"Plain", [](TransformerConfig&) {}},
        Case{"Rotary", [](TransformerConfig& c) { c.positions = Positions::rotary; }},
        Case{"RelativeBias", [](TransformerConfig& c) { c.positions = Positions::relative_bias; }},
        Case{"LearnedPostNorm",
             [](TransformerConfig& c) { c.positions = Positions::learned, c.norm_order = NormOrder::post; }},
        Case{"ParallelGatedRms",
             [](TransformerConfig& c) {
               c.norm_order = NormOrder::parallel, c.gated_ffn = true;
               c.norm_kind = NormKind::rms, c.activation = Activation::silu, c.head_width = 6;
             }},
        Case{"WindowAndSink",
             [](TransformerConfig& c) { c.self_attention = SlidingWindow{3} + SoftmaxWithSink{}; }},
        Case{"LongformerSeparate",
             [](TransformerConfig& c) {
               c.self_attention = LongformerSeparate{2, 3};
             }},
        Case{"BigBird", [](TransformerConfig& c) { c.self_attention = BigBird{.block = 2, .random = 1}; }},
        Case{"MultiToken", [](TransformerConfig& c) { c.self_attention = MultiToken{}; }},
        Case{"LocalCross", [](TransformerConfig& c) { c.cross_attention = LocalM{2}; }},
        Case{"Bahdanau", small(Architecture::bahdanau, 2, 1)}, Case{"Luong", small(Architecture::luong, 2, 2)},
        Case{"LuongLocal", small(Architecture::luong, 1, 1, Dot{} + LocalP{2})}),
    [](const testing::TestParamInfo<Case>& c) { return std::string(c.param.name); });

TEST(Decoding, ErrorsSayWhatIsWrong) {
  const Transformer model(small(), 1), other(small(), 1);
  Pass pass;
  const Tensor source = Tensor::zeros({2, 3}, DType::i32);
  const Encoded encoded = model.encode(source, {3, 3}, pass);
  const std::unique_ptr<Decoding> rows = model.start(encoded);
  EXPECT_THROW(rows->extend(std::vector<Ids>{{1}}, pass), Error) << "a row without tokens";
  EXPECT_THROW(rows->extend(std::vector<Ids>{{1}, {}}, pass), Error) << "a row without tokens";
  EXPECT_THROW(rows->extend(std::vector<Ids>{{1}, {vocabulary}}, pass), Error) << "not in the vocabulary";
  EXPECT_THROW(rows->reorder(std::vector<int64_t>{2}), Error) << "no such row";
  EXPECT_THROW(rows->join(*other.start(encoded)), Error) << "another model";
  EXPECT_THROW(model.start(encoded)->extend(std::vector<Ids>(2, Ids(61, 1)), pass), Error) << "61 positions";
}

}  // namespace qkv::decoding_test
