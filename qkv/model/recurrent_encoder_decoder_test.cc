// The recurrent encoder-decoders: they equal their formulas in double precision, a sentence depends neither on padding
// nor on threads, and they learn. Decoding: decoding_test.cc.
#include "qkv/model/recurrent_encoder_decoder.h"

#include <functional>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/base/threads.h"
#include "qkv/layer/recurrent_test.h"
#include "qkv/model/bahdanau.h"
#include "qkv/model/luong.h"
#include "qkv/model/make_model.h"
#include "qkv/model/model_file.h"

namespace qkv::recurrent_encoder_decoder_test {

using namespace test;
using Ids = std::vector<int32_t>;

RecurrentConfig small(Architecture architecture, int64_t width = 4) {
  return {.architecture = architecture,
          .source_vocabulary = 6,
          .target_vocabulary = 5,
          .d_model = width,
          .dropout = 0,
          .tie = Tie::none};
}

std::unique_ptr<EncoderDecoder> made(const RecurrentConfig& config, uint64_t stream) {
  std::unique_ptr<Model> model = make_model(config);
  randomise(*model, stream);
  return std::unique_ptr<EncoderDecoder>(dynamic_cast<EncoderDecoder*>(model.release()));
}

// Two sentences of three and two tokens, targets of three; -1 is not counted.
constexpr int64_t C = 4, S = 3, T = 3;
const Ids lengths = {3, 2}, source = {4, 1, 5, 2, 3, 0}, target_in = {1, 3, 2, 1, 4, 0},
          target_out = {3, 2, 4, 4, 1, -1};

double cross_entropy_of(const Row& logits, int32_t target) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  return target < 0 ? 0 : std::log(sum) - logits[static_cast<size_t>(target)];
}

// The readouts of a sentence, from the embeddings of its source and its target.
using Sentence =
    std::function<std::vector<Row>(const LayerNumbers& p, const std::vector<Row>& x, const std::vector<Row>& y)>;

void check_loss(Architecture architecture, const Sentence& readouts_of) {
  const auto model = made(small(architecture), 1);
  const LayerFormula loss = [&](const Doubles&, const LayerNumbers& p) {
    double sum = 0;
    for (int64_t b = 0; b < 2; ++b) {
      std::vector<Row> x, y;
      for (int64_t j = 0; j < lengths[static_cast<size_t>(b)]; ++j)
        x.push_back(row_of(p.parameters.at("source_embedding"), source[static_cast<size_t>(b * S + j)], C));
      for (int64_t t = 0; t < T; ++t)
        y.push_back(row_of(p.parameters.at("target_embedding"), target_in[static_cast<size_t>(b * T + t)], C));
      const std::vector<Row> readouts = readouts_of(p, x, y);
      for (int64_t t = 0; t < T; ++t)
        sum += cross_entropy_of(p.product("output", readouts[static_cast<size_t>(t)]),
                                target_out[static_cast<size_t>(b * T + t)]);
    }
    return Row{sum};
  };
  check_layer(
      *model, {},
      [&](const Variables&) {
        Pass pass;
        return model
            ->loss(Tensor::from(source, {2, S}), lengths, Tensor::from(target_in, {2, T}),
                   Tensor::from(target_out, {2, T}),
                   {.ignore_index = -1, .reduction = CrossEntropyOptions::Reduction::sum}, pass)
            .loss;
      },
      loss);
}

TEST(RecurrentEncoderDecoder, BahdanauHasTheLossAndGradientsOfDoublePrecision) {
  check_loss(
      Architecture::bahdanau, [](const LayerNumbers& p, const std::vector<Row>& x, const std::vector<Row>& y) {
        const size_t n = x.size();
        std::vector<Row> forward(n), reverse(n), h(n);
        for (size_t j = 0; j < n; ++j) {
          forward[j] = p.gru("encoder.layers.0", x[j], j == 0 ? Row(C) : forward[j - 1]);
          reverse[n - 1 - j] = p.gru("encoder.layers.0.reverse", x[n - 1 - j], j == 0 ? Row(C) : reverse[n - j]);
        }
        for (size_t j = 0; j < n; ++j) h[j] = joined(forward[j], reverse[j]);
        Row s = p.linear("decoder.initial", reverse[0]);
        for (double& value : s) value = std::tanh(value);
        std::vector<Row> readouts;
        for (const Row& y_t : y) {
          const Row query = p.linear("decoder.attention.query", s);
          Row scores;
          for (const Row& state : h) {
            const Row key = p.linear("decoder.attention.key", state);
            scores.push_back(dot_of(p.parameters.at("decoder.attention.score"),
                                    each(query, [&](size_t i) { return std::tanh(query[i] + key[i]); })));
          }
          const Row context = average_of(h, scores, Row(n, 1.0));
          s = p.gru("decoder.cell", joined(y_t, context), s);
          const Row u = p.linear("decoder.state_readout", s), v = p.linear("decoder.embedding_readout", y_t),
                    z = p.linear("decoder.context_readout", context);
          readouts.push_back(each(Row(C), [&](size_t i) {
            return std::max(u[2 * i] + v[2 * i] + z[2 * i], u[2 * i + 1] + v[2 * i + 1] + z[2 * i + 1]);
          }));
        }
        return readouts;
      });
}

TEST(RecurrentEncoderDecoder, LuongHasTheLossAndGradientsOfDoublePrecision) {
  check_loss(Architecture::luong, [](const LayerNumbers& p, const std::vector<Row>& x, const std::vector<Row>& y) {
    std::vector<Row> h;
    Row state(2 * C), attentional(C);
    for (const Row& x_j : x) {
      state = p.lstm("encoder.layers.0", x_j, state);
      h.push_back(row_of(state, 0, C));
    }
    std::vector<Row> readouts;
    for (const Row& y_t : y) {
      state = p.lstm("decoder.stack.layers.0", joined(y_t, attentional), state);
      const Row top = row_of(state, 0, C);
      Row scores;
      for (const Row& h_j : h) scores.push_back(dot_of(top, h_j));
      attentional = p.linear("decoder.combine", joined(average_of(h, scores, Row(h.size(), 1.0)), top));
      for (double& value : attentional) value = std::tanh(value);
      readouts.push_back(attentional);
    }
    return readouts;
  });
}

class RecurrentEncoderDecoderOf : public testing::TestWithParam<Architecture> {};

TEST_P(RecurrentEncoderDecoderOf, ASentenceDependsNeitherOnPaddingNorOnItsNeighbours) {
  const auto model = made(small(GetParam(), 20), 2);
  const NoGrad guard;
  Pass pass;
  const Tensor ids = Tensor::from(source, {2, S}), in = Tensor::from(target_in, {2, T});
  const Tensor together = model->decode(in, model->encode(ids, lengths, pass), pass).value();
  const Tensor alone =
      model
          ->decode(in.slice(0, 1, 2).slice(1, 0, 2).contiguous_copy(),
                   model->encode(ids.slice(0, 1, 2).slice(1, 0, 2).contiguous_copy(), {2}, pass), pass)
          .value();
  EXPECT_TRUE(same_bits(alone, together.slice(0, 1, 2).slice(1, 0, 2).contiguous_copy()));
  const Encoded second = gather_rows(model->encode(ids, lengths, pass), std::vector<int64_t>{1});
  EXPECT_TRUE(same_bits(model->decode(in.slice(0, 1, 2).contiguous_copy(), second, pass).value(),
                        together.slice(0, 1, 2).contiguous_copy()));
}

TEST_P(RecurrentEncoderDecoderOf, OneThreadOrThreeHaveTheSameBits) {
  const auto gradients = [&](int count) {
    set_threads(count);
    RecurrentConfig c = small(GetParam(), 48);
    c.dropout = 0.2f;
    const auto model = made(c, 3);
    Pass pass{.training = true, .seed = 4};
    model
        ->loss(Tensor::from(source, {2, S}), lengths, Tensor::from(target_in, {2, T}),
               Tensor::from(target_out, {2, T}), {.ignore_index = -1}, pass)
        .loss.backward();
    NamedTensors all;
    model->visit([&](const std::string& name, Variable& p) { all.emplace_back(name, p.grad()); });
    return all;
  };
  const int before = threads();
  const NamedTensors one = gradients(1), three = gradients(3);
  set_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i].second, three[i].second)) << one[i].first;
}

TEST_P(RecurrentEncoderDecoderOf, InitialValuesAreAFunctionOfTheSeed) {
  const auto first = make_model(small(GetParam())), second = make_model(small(GetParam()));
  first->initialise("", 7);
  second->initialise("", 7);
  const NamedTensors a = parameters_of(*first), b = parameters_of(*second);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i].second, b[i].second)) << a[i].first;
}

TEST_P(RecurrentEncoderDecoderOf, BadIdsAreErrors) {
  const auto model = made(small(GetParam()), 5);
  Pass pass;
  EXPECT_THROW(model->encode(Tensor::zeros({2, 3}), {3, 3}, pass), Error) << "not i32";
  EXPECT_THROW(model->encode(Tensor::from(Ids{6}, {1, 1}), {1}, pass), Error) << "not in the vocabulary";
  const Encoded encoded = model->encode(Tensor::from(source, {2, S}), lengths, pass);
  EXPECT_THROW(model->decode(Tensor::zeros({2, 0}, DType::i32), encoded, pass), Error) << "no tokens";
  EXPECT_THROW(model->loss(encoded, Tensor::from(target_in, {2, T}), Tensor::zeros({2, 2}, DType::i32), {}, pass),
               Error);
}

INSTANTIATE_TEST_SUITE_P(Models, RecurrentEncoderDecoderOf,
                         testing::Values(Architecture::bahdanau, Architecture::luong),
                         [](const auto& of) { return std::string(name_of(of.param)); });

TEST(RecurrentEncoderDecoder, IsMadeOfItsOwnArchitectureOnly) {
  EXPECT_THROW(Bahdanau(small(Architecture::luong)), UsageError);
  EXPECT_THROW(Luong(small(Architecture::bahdanau)), UsageError);
  EXPECT_THROW(Luong(small(Architecture::encoder_decoder)), UsageError);
}

}  // namespace qkv::recurrent_encoder_decoder_test
