// Ten training steps of a small Transformer of 2017, from given weights on given batches.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/transformer.h"
#include "qkv/op/shape.h"
#include "qkv/train/adam.h"
#include "qkv/train/gradient_norm.h"
#include "qkv/train/schedule.h"
#include "test/golden_test/case.h"

namespace qkv::golden::trajectory_cases {

TransformerConfig config_of(const Case& c) {
  // A layer of the model has the usual eps.
  if (c.number("layer_norm_eps") != 1e-5)
    throw NotBuilt(fmt::format("layer_norm_eps {} is not known", c.number("layer_norm_eps")));
  return {.source_vocabulary = c.integer("vocab"),
          .target_vocabulary = c.integer("vocab"),
          .d_model = c.integer("d_model"),
          .heads = c.integer("num_heads"),
          .ffn = c.integer("dim_feedforward"),
          .encoder_layers = c.integer("num_encoder_layers"),
          .decoder_layers = c.integer("num_decoder_layers"),
          .dropout = 0.0f,
          .norm_order = NormOrder::post,
          .attention_bias = false};
}

// The name of a parameter of the model in the file: "encoder.layers.0.self_attention.query.weight" is
// "encoder.0.self.w_q".
std::string name_in_file(std::string name) {
  const std::pair<const char*, const char*> words[] = {{"source_embedding", "embedding"},
                                                       {".layers", ""},
                                                       {"self_attention", "self"},
                                                       {"cross_attention", "cross"},
                                                       {"query.weight", "w_q"},
                                                       {"key.weight", "w_k"},
                                                       {"value.weight", "w_v"},
                                                       {"out.weight", "w_o"},
                                                       {"feed_forward.up.weight", "ffn.w1"},
                                                       {"feed_forward.up.bias", "ffn.b1"},
                                                       {"feed_forward.down.weight", "ffn.w2"},
                                                       {"feed_forward.down.bias", "ffn.b2"}};
  for (const auto& [ours, theirs] : words)
    if (const size_t at = name.find(ours); at != name.npos) name.replace(at, std::string_view(ours).size(), theirs);
  return name;
}

struct Named {
  std::string name;
  Variable parameter;
};

std::vector<Named> load_parameters(Case& c, Transformer& model) {
  std::vector<Named> all;
  model.visit([&](const std::string& name, Variable& parameter) {
    const std::string stored = name_in_file(name);
    const Tensor initial = c.tensor("initial." + stored);
    require<InputError>(initial.shape() == parameter.shape(), "golden", "initial.{} is {}, the model has {}",
                        stored, initial.shape(), parameter.shape());
    parameter.mutable_value().copy_from(initial);
    all.push_back({stored, parameter});
  });
  return all;
}

// How many ids of each row come before the padding.
std::vector<int32_t> lengths_of(const Tensor& ids, int32_t pad) {
  std::vector<int32_t> lengths;
  for (int64_t b = 0; b < ids.dim(0); ++b) {
    const int32_t* row = ids.data<int32_t>() + b * ids.stride(0);
    lengths.push_back(static_cast<int32_t>(std::find(row, row + ids.dim(1), pad) - row));
  }
  return lengths;
}

// The logits of the first step. Rows of padded target positions are taken from the file: they do not enter the loss,
// and the model of the file lets them see other padded positions.
void compare_logits(Case& c, const Transformer& model, const Tensor& source, const std::vector<int32_t>& lengths,
                    const Tensor& target, int32_t pad) {
  const NoGrad guard;
  Pass pass;
  Tensor logits = model.logits(model.decode(target, model.encode(source, lengths, pass), pass)).value().clone();
  const Tensor stored = c.tensor("logits_1");
  const std::vector<int32_t> targets = lengths_of(target, pad);
  for (int64_t b = 0; b < target.dim(0); ++b) {
    const int64_t real = targets[static_cast<size_t>(b)];
    logits.slice(0, b, b + 1)
        .slice(1, real, target.dim(1))
        .copy_from(stored.slice(0, b, b + 1).slice(1, real, target.dim(1)));
  }
  c.compare("logits_1", logits);
}

void compare_final_weights(Case& c, const std::vector<Named>& parameters) {
  std::vector<double> differences;
  for (const auto& [name, parameter] : parameters) {
    const Tensor wanted = c.tensor("final." + name).contiguous_copy();
    const auto a = wanted.span<float>();
    const Tensor& value = parameter.value();
    const auto b = value.span<float>();
    for (size_t i = 0; i < a.size(); ++i) {
      const double d = std::abs(double{a[i]} - b[i]);
      differences.push_back(std::isnan(d) ? INFINITY : d);
    }
  }
  std::sort(differences.begin(), differences.end());
  const double maximum = differences.back(), of_99_percent = differences[differences.size() * 99 / 100];
  EXPECT_LE(maximum, 1e-3) << "final weights";
  EXPECT_LE(of_99_percent, 2e-5) << "final weights";
  c.remark(
      fmt::format("final weights off by at most {:.1e}, 99 % of them by at most {:.1e}", maximum, of_99_percent));
}

void trajectory(Case& c) {
  c.knows_arguments({"vocab", "d_model", "num_heads", "dim_feedforward", "num_encoder_layers", "num_decoder_layers",
                     "pad", "bos", "eos", "label_smoothing", "beta1", "beta2", "eps", "warmup", "factor",
                     "layer_norm_eps", "steps"});
  Transformer model(config_of(c), 1);
  const std::vector<Named> parameters = load_parameters(c, model);
  std::vector<Variable> leaves;
  for (const Named& p : parameters) leaves.push_back(p.parameter);
  Adam adam(leaves, {.beta1 = c.number("beta1"), .beta2 = c.number("beta2"), .eps = c.number("eps")});
  const Schedule schedule({.kind = ScheduleKind::noam,
                           .peak = c.number("factor"),
                           .warmup = c.integer("warmup"),
                           .d_model = c.integer("d_model")});
  const auto pad = static_cast<int32_t>(c.integer("pad"));
  const CrossEntropyOptions loss_options{.label_smoothing = static_cast<float>(c.number("label_smoothing")),
                                         .ignore_index = pad};

  const int64_t steps = c.integer("steps");
  std::vector<float> losses, norms, rates;
  for (int64_t n = 1; n <= steps; ++n) {
    const Tensor source = c.tensor("src").select(0, n - 1).clone();
    const Tensor target = c.tensor("tgt").select(0, n - 1);
    const Tensor target_in = target.slice(1, 0, target.dim(1) - 1).clone();
    const Tensor target_out = target.slice(1, 1, target.dim(1)).clone();
    const std::vector<int32_t> lengths = lengths_of(source, pad);
    if (n == 1) compare_logits(c, model, source, lengths, target_in, pad);
    Pass pass{.training = true};
    const CrossEntropy result = model.loss(source, lengths, target_in, target_out, loss_options, pass);
    result.loss.backward();
    losses.push_back(result.loss.value().at<float>({0}));
    norms.push_back(static_cast<float>(gradient_norm(leaves)));
    rates.push_back(static_cast<float>(schedule.rate(n)));
    if (n == 1)
      for (const auto& [name, parameter] : parameters) c.compare_gradient("grad_1." + name, parameter.grad());
    adam.step(schedule.rate(n));
    adam.zero_grad();
  }
  c.compare_each("losses", Tensor::from(losses, {steps}));
  c.compare_each("learning_rates", Tensor::from(rates, {steps}));
  c.compare_gradient("grad_norms", Tensor::from(norms, {steps}));
  compare_final_weights(c, parameters);
}

const Group group("trajectory", trajectory);

}  // namespace qkv::golden::trajectory_cases
