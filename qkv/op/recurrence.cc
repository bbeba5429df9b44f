#include "qkv/op/recurrence.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/kernel/matmul.h"
#include "qkv/op/product_work.h"
#include "qkv/op/rows.h"
#include "qkv/op/zero_padding.h"

namespace qkv {
namespace {

// A call: its sizes, and where the numbers of a row and position are. Arrays (B,T,width) are contiguous.
struct Call {
  RecurrenceCell cell;
  int64_t B, T, W;
  Tensor lengths, initial;
  bool reverse;

  int64_t gates_width() const { return cell.gates * W; }
  int64_t state_width() const { return cell.parts * W; }
  int64_t saved_width() const { return RecurrenceCell::saved_width * W; }
  int64_t position(int64_t step) const { return reverse ? T - 1 - step : step; }
  bool is_padding(int64_t b, int64_t t) const { return lengths.defined() && t >= lengths.data<int32_t>()[b]; }

  // The states before a step: `row_stride` apart.
  struct Before {
    const float* data;
    int64_t row_stride;
    const float* row(int64_t b) const { return data + b * row_stride; }
  };
  Before before(int64_t step, const Tensor& states) const {
    if (step == 0) return {initial.data<float>(), state_width()};
    return {states.data<float>() + position(step - 1) * state_width(), T * state_width()};
  }
};

Call checked(const RecurrenceCell& cell, const Variable& input, const Weight& w, const Variable& b,
             const RecurrenceOptions& o) {
  require(w.shape().rank() == 2 && w.dim(1) > 0 && w.dim(0) == cell.gates * w.dim(1), cell.name,
          "w must be ({0} W, W), got {1}", cell.gates, w.shape());
  const int64_t W = w.dim(1);
  require(input.value().rank() == 3 && input.dim(2) == cell.gates * W, cell.name,
          "the input must be (B,T,{} W) with W {}, got {}", cell.gates, W, input.shape());
  const int64_t B = input.dim(0), T = input.dim(1);
  require(!b.defined() || b.shape() == Shape{cell.gates * W}, cell.name, "w is {}, b must be ({} W), got {}",
          w.shape(), cell.gates, b.defined() ? b.shape() : Shape{});
  require(!o.initial.defined() || o.initial.shape() == Shape{B, cell.parts * W}, cell.name,
          "the initial state must be (B {}, {}), got {}", B, cell.parts * W,
          o.initial.defined() ? o.initial.shape() : Shape{});
  if (o.lengths.defined()) checked_lengths(cell.name, o.lengths, B, T);
  return {.cell = cell,
          .B = B,
          .T = T,
          .W = W,
          .lengths = o.lengths,
          .initial = o.initial.defined() ? o.initial.value().contiguous_copy() : Tensor::zeros({B, cell.parts * W}),
          .reverse = o.reverse};
}

// Without `save`, what the cell saves of a position is overwritten by the next one.
struct Forward {
  Tensor states, saved;
};
Forward forward(const Call& c, const Tensor& input, const Weight& w, const Tensor& b, bool save) {
  Forward out = {Tensor::empty({c.B, c.T, c.state_width()}), Tensor::empty({c.B, save ? c.T : 1, c.saved_width()})};
  Tensor hidden = Tensor::empty({c.B, c.gates_width()});
  const kernel::PackedMatrix weight = save ? w.recorded_forward(c.B * c.T) : w.forward();
  count_work(ProductWork(c.B * c.T, w.shape(), weight));
  const float* x = input.data<float>();
  float *h = hidden.data<float>(), *states = out.states.data<float>(), *saved = out.saved.data<float>();
  for (int64_t step = 0; step < c.T; ++step) {
    const int64_t t = c.position(step);
    const Call::Before before = c.before(step, out.states);
    kernel::matmul({before.data, c.B, c.W, before.row_stride, 1}, weight, h, c.gates_width(),
                   {.bias = b.defined() ? b.data<float>() : nullptr});
    for_each_row(c.B, c.gates_width(), [&](int64_t row) {
      float* after = states + (row * c.T + t) * c.state_width();
      if (c.is_padding(row, t))
        std::copy_n(before.row(row), c.state_width(), after);
      else
        c.cell.forward(c.W, x + (row * c.T + t) * c.gates_width(), h + row * c.gates_width(), before.row(row),
                       saved + (save ? row * c.T + t : row) * c.saved_width(), after);
    });
  }
  return out;
}

// h of the state before every position, (B T, W).
Tensor previous_outputs(const Call& c, const Tensor& states) {
  Tensor previous = Tensor::empty({c.B * c.T, c.W});
  float* to = previous.data<float>();
  for_each_row(c.B, c.T * c.W, [&](int64_t row) {
    for (int64_t step = 0; step < c.T; ++step)
      std::copy_n(c.before(step, states).row(row), c.W, to + (row * c.T + c.position(step)) * c.W);
  });
  return previous;
}

// One position of a row: d.state holds the gradient from the later positions; that of the output is added to it.
void row_backward(const Call& c, const Forward& f, int64_t at, const float* before, const float* dy,
                  const RecurrenceCell::Gradients& d) {
  for (int64_t i = 0; i < c.state_width(); ++i) d.state[i] += dy[at * c.state_width() + i];
  c.cell.backward(c.W, f.saved.data<float>() + at * c.saved_width(), before,
                  f.states.data<float>() + at * c.state_width(), d);
}

struct Backpropagated {
  Tensor input, hidden;  // hidden: of h W^T + b
  Tensor initial;        // complete only where it is needed
};
Backpropagated backward(const Call& c, const Forward& f, const Weight& w, const Tensor& grad, bool needs_initial) {
  Backpropagated d = {Tensor::empty({c.B, c.T, c.gates_width()}), {}, Tensor::zeros({c.B, c.state_width()})};
  d.hidden = c.cell.sums_hidden ? d.input : Tensor::empty(d.input.shape());
  const kernel::PackedMatrix weight = w.backward(c.B * c.T);
  count_work(ProductWork(c.B * c.T, w.shape(), weight));
  const float* dy = grad.data<float>();
  float *input = d.input.data<float>(), *hidden = d.hidden.data<float>(), *state = d.initial.data<float>();
  for (int64_t step = c.T - 1; step >= 0; --step) {
    const int64_t t = c.position(step);
    const Call::Before before = c.before(step, f.states);
    for_each_row(c.B, c.gates_width(), [&](int64_t row) {
      const int64_t at = row * c.T + t;
      const RecurrenceCell::Gradients g = {input + at * c.gates_width(), hidden + at * c.gates_width(),
                                           state + row * c.state_width()};
      if (!c.is_padding(row, t)) return row_backward(c, f, at, before.row(row), dy, g);
      std::fill_n(g.input, c.gates_width(), 0.0f);
      std::fill_n(g.hidden, c.gates_width(), 0.0f);
      for (int64_t i = 0; i < c.state_width(); ++i) g.state[i] += dy[at * c.state_width() + i];
    });
    if (step == 0 && !needs_initial) continue;
    kernel::matmul({hidden + t * c.gates_width(), c.B, c.gates_width(), c.T * c.gates_width(), 1}, weight, state,
                   c.state_width(), {.accumulate = true});  // dh_(t-1) += dhidden_t W
  }
  return d;
}

}  // namespace

Variable recurrence(const RecurrenceCell& cell, const Variable& input, const Weight& w, const Variable& b,
                    const RecurrenceOptions& options) {
  const OpScope scope(cell.name);
  const Call call = checked(cell, input, w, b, options);
  std::vector<Variable> inputs = {input, w.master()};
  if (b.defined()) inputs.push_back(b);
  if (options.initial.defined()) inputs.push_back(options.initial);
  const Forward f = forward(call, input.value().contiguous_copy(), w,
                            b.defined() ? b.value().contiguous_copy() : Tensor(), recording(inputs));
  return record(cell.name, std::move(inputs), f.states,
                [call, f, w, has_bias = b.defined()](const Tensor& grad, const std::vector<bool>& needs) {
                  const bool needs_initial = needs.size() > (has_bias ? 3 : 2) && needs.back();
                  const Backpropagated d = backward(call, f, w, grad.contiguous_copy(), needs_initial);
                  std::vector<Tensor> grads(needs.size());
                  grads[0] = d.input;
                  const int64_t rows = call.B * call.T;
                  if (needs[1]) {  // dW = dhidden^T h_before
                    const Tensor previous = previous_outputs(call, f.states);
                    grads[1] = Tensor::empty(w.shape());
                    w.gradient({d.hidden.data<float>(), rows, call.gates_width()},
                               {previous.data<float>(), rows, call.W}, grads[1].data<float>());
                  }
                  if (has_bias && needs[2]) grads[2] = sum_rows(d.hidden, call.gates_width());
                  if (needs_initial) grads.back() = d.initial;
                  return grads;
                });
}

}  // namespace qkv
