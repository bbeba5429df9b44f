#include "qkv/autograd/variable.h"

#include <algorithm>
#include <atomic>
#include <queue>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

thread_local bool grad_enabled = true;
std::atomic<uint64_t> next_sequence{1};

template <class T>
void add_to(Tensor& sum, const Tensor& x) {
  const std::span<T> s = sum.span<T>();
  const Tensor contiguous = x.contiguous_copy();
  const std::span<const T> v = contiguous.span<T>();
  parallel_ranges(static_cast<int64_t>(s.size()), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) s[i] = T(static_cast<float>(s[i]) + static_cast<float>(v[i]));
  });
}

void add_to(Tensor& sum, const Tensor& x) {
  const OpScope scope("sum of gradients", OpWork::moves(x, 3));
  if (sum.dtype() == DType::bf16)
    add_to<bfloat16>(sum, x);
  else
    add_to<float>(sum, x);
}

Tensor copy_of(const Tensor& gradient) {
  const OpScope scope("copy of a gradient", OpWork::moves(gradient, 2));
  return gradient.clone();
}

}  // namespace

struct Variable::Node {
  // What a node has that requires a gradient. A decoding step makes hundreds of others.
  struct Gradient {
    std::string_view op = "leaf";
    uint64_t sequence = 0;  // order of creation: inputs always come before outputs
    std::vector<Variable> inputs = {};
    Backward backward = {};  // empty for a leaf

    Tensor sum = {};         // of a leaf: the gradient so far; of an inner node: only while backward() runs
    bool is_shared = false;  // another node may hold the tensor too: copy before adding
    bool fresh = true;       // a leaf without a gradient
  };

  Tensor value;
  uint64_t version = 0;
  std::unique_ptr<Gradient> gradient = {};  // null: it requires none

  explicit Node(Tensor v) : value(std::move(v)) {}
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Nodes are freed in a loop: recursion along a long chain would overflow the stack.
  ~Node() {
    std::vector<std::shared_ptr<Node>> rest;
    const auto take = [&rest](Node& node) {
      if (!node.gradient) return;
      node.gradient->backward = nullptr;
      for (Variable& input : node.gradient->inputs)
        if (input.node_ && input.node_.use_count() == 1) rest.push_back(std::move(input.node_));
      node.gradient->inputs.clear();
    };
    take(*this);
    while (!rest.empty()) {
      const std::shared_ptr<Node> node = std::move(rest.back());
      rest.pop_back();
      take(*node);
    }
  }

  void receive(Tensor g) {
    Gradient& own = *gradient;
    require(g.shape() == value.shape() && g.dtype() == value.dtype(), own.op,
            "a gradient of {} {} for a value of {} {}", name_of(g.dtype()), g.shape(), name_of(value.dtype()),
            value.shape());
    if (!own.backward) {  // leaf
      if (own.fresh) {    // the first gradient becomes the sum, copied only if it is shared
        const bool alone = g.storage().use_count() == 1 && g.contiguous() && g.storage()->writable();
        own.sum = alone ? std::move(g) : copy_of(g);
        own.fresh = false;
      } else {
        add_to(own.sum, g);
      }
    } else if (!own.sum.defined()) {
      own.sum = g;
      own.is_shared = true;
    } else {
      if (own.is_shared) own.sum = copy_of(own.sum);
      own.is_shared = false;
      add_to(own.sum, g);
    }
  }
};

Variable::Variable(Tensor value) : Variable(std::move(value), Options{}) {}

Variable::Variable(Tensor value, Options options) : node_(std::make_shared<Node>(std::move(value))) {
  if (!options.requires_grad) return;
  const DType type = node_->value.dtype();
  require(type == DType::f32 || type == DType::bf16, "Variable", "only f32 and bf16 values have gradients, got {}",
          name_of(type));
  node_->gradient = std::make_unique<Node::Gradient>();
}

const Tensor& Variable::value() const {
  require(defined(), "Variable", "the variable is undefined");
  return node_->value;
}

Tensor& Variable::mutable_value() {
  require(defined() && (!node_->gradient || !node_->gradient->backward), "Variable::mutable_value",
          "only a leaf may be written");
  ++node_->version;
  return node_->value;
}

bool Variable::requires_grad() const { return defined() && node_->gradient; }

const Tensor& Variable::grad() const {
  static const Tensor none;
  return !node_->gradient || node_->gradient->fresh ? none : node_->gradient->sum;
}

Tensor& Variable::mutable_grad() {
  require(node_->gradient && !node_->gradient->fresh, "Variable::mutable_grad",
          "the variable has no gradient: call backward() first");
  return node_->gradient->sum;
}

void Variable::zero_grad() {
  if (!node_->gradient) return;
  node_->gradient->fresh = true;
  node_->gradient->sum = Tensor();
}

uint64_t Variable::version() const { return node_->version; }

void Variable::backward() const {
  require(value().numel() == 1, "backward",
          "a value of shape {} needs an upstream gradient; only a single number needs none", shape());
  Tensor one = Tensor::empty(shape());
  one.fill(1.0f);
  backward(one);
}

void Variable::backward(const Tensor& upstream) const {
  require(requires_grad(), "backward", "no input of this value requires a gradient");
  const OpScope tape("tape", {}, OpPass::backward);
  const auto older = [](const std::shared_ptr<Node>& a, const std::shared_ptr<Node>& b) {
    return a->gradient->sequence < b->gradient->sequence;
  };
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, decltype(older)> waiting(older);
  node_->receive(upstream);
  if (node_->gradient->backward) waiting.push(node_);
  while (!waiting.empty()) {
    const std::shared_ptr<Node> node = waiting.top();
    waiting.pop();
    Node::Gradient& own = *node->gradient;
    std::vector<bool> needs;
    for (const Variable& input : own.inputs) needs.push_back(input.requires_grad());
    Tensor grad = std::move(own.sum);
    own.sum = Tensor();
    std::vector<Tensor> grads;
    {
      const OpScope scope(own.op);
      grads = own.backward(grad, needs);
    }
    require(grads.size() == needs.size(), own.op, "{} gradients for {} inputs", grads.size(), needs.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!needs[i] || !grads[i].defined()) continue;
      Node& input = *own.inputs[i].node_;
      const bool first = input.gradient->backward && !input.gradient->sum.defined();
      input.receive(std::move(grads[i]));
      grads[i] = Tensor();
      if (first) waiting.push(own.inputs[i].node_);
    }
    // What the op saved is not needed again: its memory can be reused by the remaining nodes.
    own.backward = [op = own.op](const Tensor&, const std::vector<bool>&) -> std::vector<Tensor> {
      fail(op, "backward() was called twice on the same values; compute them again first");
    };
    own.inputs.clear();
  }
}

Variable record_node(std::string_view op, std::vector<Variable> inputs, Tensor value, Backward backward) {
  Variable out(std::move(value));
  out.node_->gradient = std::make_unique<Variable::Node::Gradient>(
      Variable::Node::Gradient{.op = op,
                               .sequence = next_sequence.fetch_add(1, std::memory_order_relaxed),
                               .inputs = std::move(inputs),
                               .backward = std::move(backward)});
  return out;
}

bool recording(std::span<const Variable> inputs) {
  return grad_enabled &&
         std::any_of(inputs.begin(), inputs.end(), [](const Variable& v) { return v.requires_grad(); });
}

bool recording() { return grad_enabled; }

WithGrad::WithGrad() : before_(grad_enabled) { grad_enabled = true; }
WithGrad::~WithGrad() { grad_enabled = before_; }

NoGrad::NoGrad() : before_(grad_enabled) { grad_enabled = false; }
NoGrad::~NoGrad() { grad_enabled = before_; }

}  // namespace qkv
