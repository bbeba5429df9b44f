// Differentiable operations beside attention(). Each is called as operation(inputs, grad, numpy, options...): inputs is
// a tuple of arrays, None for one that is left out; grad is None for the result, else the gradient of the result for a
// list with the gradients of the inputs (None for an input without one).

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/parts.h"
#include "qkv/attention/local.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/relative_buckets.h"
#include "qkv/attention/multi_token.h"
#include "qkv/base/error.h"
#include "qkv/op/position.h"
#include "qkv/op/rotary.h"
#include "qkv/op/rotary_scaling.h"
#include "qkv/op/softmax.h"

namespace qkv::python {
namespace {

using InputVariables = std::vector<Variable>;

template <class Operation>
nb::any apply(nb::tuple arrays, nb::handle grad, bool numpy, Operation operation) {
  InputVariables inputs;
  for (const nb::handle array : arrays)
    inputs.push_back(array.is_none() ? Variable() : variable_of(array, "input", !grad.is_none()));
  Tensor upstream, out;
  if (!grad.is_none()) upstream = tensor_of(grad, "the gradient of the output");
  {
    const nb::gil_scoped_release unlocked;
    const Variable result = operation(inputs);
    if (upstream.defined())
      result.backward(upstream);
    else
      out = result.value();
  }
  if (!upstream.defined()) return array_of(out, numpy);
  nb::list grads;
  for (const Variable& x : inputs)
    grads.append(x.defined() && x.grad().defined() ? nb::object(array_of(x.grad(), numpy)) : nb::none());
  return nb::borrow<nb::any>(grads);
}

// The fields of qkv.RotaryScaling.
RotaryScaling scaling_of(const nb::dict& fields) {
  RotaryScaling o;
  const auto set = [&](const char* name, auto& field) {
    field = nb::cast<std::remove_reference_t<decltype(field)>>(fields[name]);
  };
  o.type = value_named<RotaryScalingType>(nb::cast<std::string>(fields["type"]), "RotaryScaling", "type");
  set("factor", o.factor);
  set("original_positions", o.original_positions);
  set("length", o.length);
  set("attention_factor", o.attention_factor);
  set("low_frequency_factor", o.low_frequency_factor);
  set("high_frequency_factor", o.high_frequency_factor);
  set("beta_fast", o.beta_fast);
  set("beta_slow", o.beta_slow);
  set("truncate", o.truncate);
  set("mscale", o.mscale);
  set("mscale_all_dim", o.mscale_all_dim);
  set("short_factors", o.short_factors);
  set("long_factors", o.long_factors);
  return o;
}

PadKey pad_key_named(const std::string& name) {
  if (name == "both") return PadKey::both;
  if (name == "left") return PadKey::left;
  require(name == "right", "multi_token_attention", "pad_key must be both, left or right, got '{}'", name);
  return PadKey::right;
}

}  // namespace

// inputs: pre_conv, pre_mix, post_conv, post_head, post_mix.
MultiTokenOptions multi_token_options(const InputVariables& inputs, const std::string& pad_key, nb::handle mask,
                                      std::optional<float> scale) {
  return {.pre_conv = inputs[0],
          .pre_mix = inputs[1],
          .post_conv = inputs[2],
          .post_head = inputs[3],
          .post_mix = inputs[4],
          .pad_key = pad_key_named(pad_key),
          .mask = mask.is_none() ? MaskPtr() : nb::cast<const MaskPart&>(mask).part,
          .scale = scale};
}

namespace {

nb::any multi_token(nb::tuple arrays, nb::handle grad, bool numpy, const std::string& pad_key, nb::handle mask,
                    std::optional<float> scale) {
  const MultiTokenOptions given = multi_token_options(InputVariables(5), pad_key, mask, scale);
  return apply(arrays, grad, numpy, [&](const InputVariables& in) {
    MultiTokenOptions options = given;
    options.pre_conv = in[3];
    options.pre_mix = in[4];
    options.post_conv = in[5];
    options.post_head = in[6];
    options.post_mix = in[7];
    return multi_token_attention(in[0], in[1], in[2], options);
  });
}

nb::tuple multi_token_with_weights(nb::tuple arrays, bool numpy, const std::string& pad_key, nb::handle mask,
                                   std::optional<float> scale) {
  InputVariables in;
  for (const nb::handle array : arrays)
    in.push_back(array.is_none() ? Variable() : variable_of(array, "input", false));
  const MultiTokenOptions options =
      multi_token_options(InputVariables(in.begin() + 3, in.end()), pad_key, mask, scale);
  MultiTokenResult r;
  {
    const nb::gil_scoped_release unlocked;
    r = multi_token_attention_with_weights(in[0], in[1], in[2], options);
  }
  return nb::make_tuple(array_of(r.out.value(), numpy), array_of(r.weights, numpy));
}

}  // namespace

void bind_operations(nb::module_& m) {
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  m.def(
      "softmax",
      [](nb::tuple x, nb::handle grad, bool numpy) {
        return apply(x, grad, numpy, [](const InputVariables& in) { return softmax(in[0]); });
      },
      one, maybe, one);
  m.def(
      "masked_softmax",
      [](nb::tuple x, nb::handle grad, bool numpy, nb::handle lengths) {
        const Tensor valid = integers_of(lengths, "masked_softmax: lengths");
        return apply(x, grad, numpy, [&](const InputVariables& in) { return masked_softmax(in[0], valid); });
      },
      one, maybe, one, one);
  // shape: offset, width
  m.def(
      "rotary",
      [](nb::tuple x, nb::handle grad, bool numpy, bool interleaved, double base, std::array<int64_t, 2> shape,
         const std::vector<double>& frequencies, double multiplier) {
        const RotaryOptions options{.interleaved = interleaved,
                                    .base = base,
                                    .offset = shape[0],
                                    .width = shape[1],
                                    .frequencies = frequencies,
                                    .multiplier = multiplier};
        return apply(x, grad, numpy, [&](const InputVariables& in) { return rotary(in[0], options); });
      },
      one, maybe, one, one, one, one, one, one);
  m.def("rotary_frequencies", [](double base, int64_t width, const nb::dict& scaling, int64_t head_width) {
    const RotaryFrequencies f = rotary_frequencies(base, width, scaling_of(scaling), head_width);
    return nb::make_tuple(f.frequencies, f.multiplier);
  });
  m.def(
      "normalize_heads",
      [](nb::tuple x, nb::handle grad, bool numpy, float eps, float lambda) {
        return apply(x, grad, numpy,
                     [&](const InputVariables& in) { return normalize_heads(in[0], in[1], eps, lambda); });
      },
      one, maybe, one, one, one);
  m.def(
      "gate_heads",
      [](nb::tuple x, nb::handle grad, bool numpy) {
        return apply(x, grad, numpy, [](const InputVariables& in) { return gate_heads(in[0], in[1], in[2]); });
      },
      one, maybe, one);
  m.def("multi_token_attention", &multi_token, one, maybe, one, one, maybe, maybe);
  m.def("multi_token_attention_with_weights", &multi_token_with_weights, one, one, one, maybe, maybe);
  // The predicted positions p (B,H,T) of local_p.
  m.def(
      "local_p",
      [](nb::tuple x, nb::handle grad, bool numpy, nb::handle lengths, int64_t window) {
        const Tensor of_keys = integers_of(lengths, "local_p: lengths");
        return apply(x, grad, numpy,
                     [&](const InputVariables& in) { return local_p(in[0], in[1], in[2], of_keys, window).p; });
      },
      one, maybe, one, one, one);
  m.def("sinusoidal", [](int64_t length, int64_t width, int64_t first) {
    return array_of(sinusoidal(length, width, {.first = first}), true);
  });
  m.def("alibi_slopes", [](int64_t heads) {
    const std::vector<float> slopes = alibi_slopes(heads);
    return array_of(Tensor::from(slopes, {static_cast<int64_t>(slopes.size())}), true);
  });
  m.def("relative_bucket", [](int64_t distance, bool bidirectional, int64_t num_buckets, int64_t max_distance) {
    return relative_bucket(distance, {bidirectional, num_buckets, max_distance});
  });
}

}  // namespace qkv::python
