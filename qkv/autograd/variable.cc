#include "qkv/autograd/variable.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {
namespace {

thread_local bool grad_enabled = true;
std::atomic<uint64_t> next_sequence{1};

// sum = a + b; all are contiguous, and a may be sum.
template <class T>
void add(const Tensor& a, const Tensor& b, Tensor& sum) {
  const T *const x = a.data<T>(), *const y = b.data<T>();
  T* const z = sum.data<T>();
  parallel_ranges(sum.numel(), 16384, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) z[i] = T(static_cast<float>(x[i]) + static_cast<float>(y[i]));
  });
}

void add(const Tensor& a, const Tensor& b, Tensor& sum) {
  const OpScope scope("sum of gradients", OpWork::moves(sum, 3));
  const Tensor contiguous = b.contiguous_copy();
  if (sum.dtype() == DType::bf16)
    add<bfloat16>(a, contiguous, sum);
  else
    add<float>(a, contiguous, sum);
}

void add_to(Tensor& sum, const Tensor& x) { add(Tensor(sum), x, sum); }

Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tensor sum = Tensor::empty(a.shape(), a.dtype());
  add(a.contiguous_copy(), b, sum);
  return sum;
}

// No other tensor has its memory, which may be written.
bool is_alone(const Tensor& x) { return x.storage().use_count() == 1 && x.contiguous() && x.storage()->writable(); }

Tensor copy_of(const Tensor& gradient) {
  const OpScope scope("copy of a gradient", OpWork::moves(gradient, 2));
  return gradient.clone();
}

Tensor one_of(const Tensor& value) {
  require(value.numel() == 1, "backward",
          "a value of shape {} needs an upstream gradient; only a single number needs none", value.shape());
  return Tensor::full(value.shape(), 1.0f);
}

template <class Inputs>
bool any_requires_grad(const Inputs& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Variable& v) { return v.requires_grad(); });
}

void require_gradient(const Variable& value) {
  require(value.requires_grad(), "backward", "no input of this value requires a gradient");
}

}  // namespace

// What a value has that requires a gradient. It does not hold the value: a value that no op saved for its backward is freed as
// soon as the last variable of it is gone.
struct Variable::Gradient {
  std::string_view op = "leaf";
  Shape shape = {};  // of the value
  DType dtype = DType::f32;
  uint64_t sequence = 0;                               // order of creation: inputs always come before outputs
  std::vector<std::shared_ptr<Gradient>> inputs = {};  // null: requires none
  Backward backward = {};                              // empty for a leaf
  Recomputation recomputation = {};
  AddGradient add_to_first = {};

  Tensor sum = {};    // of a leaf: the gradient so far; of an inner node: only while backward() runs
  bool fresh = true;  // a leaf without a gradient

  explicit Gradient(const Tensor& value) : shape(value.shape()), dtype(value.dtype()) {}
  Gradient(const Gradient&) = delete;
  Gradient& operator=(const Gradient&) = delete;
  // Nodes are freed in a loop: recursion along a long chain would overflow the stack.
  ~Gradient() {
    std::vector<std::shared_ptr<Gradient>> rest;
    const auto take = [&rest](Gradient& node) {
      node.backward = nullptr;
      node.recomputation = nullptr;
      node.add_to_first = nullptr;
      for (std::shared_ptr<Gradient>& input : node.inputs)
        if (input && input.use_count() == 1) rest.push_back(std::move(input));
      node.inputs.clear();
    };
    take(*this);
    while (!rest.empty()) {
      const std::shared_ptr<Gradient> node = std::move(rest.back());
      rest.pop_back();
      take(*node);
    }
  }

  void receive(Tensor g) {
    require(g.shape() == shape && g.dtype() == dtype, op, "a gradient of {} {} for a value of {} {}",
            name_of(g.dtype()), g.shape(), name_of(dtype), shape);
    if (!backward) {  // leaf
      if (fresh) {    // the first gradient becomes the sum, copied only if it is shared
        sum = is_alone(g) ? std::move(g) : copy_of(g);
        fresh = false;
      } else {
        add_to(sum, g);
      }
    } else if (!sum.defined()) {
      sum = g;
    } else if (is_alone(sum)) {
      add_to(sum, g);
    } else {
      sum = sum_of(sum, g);
    }
  }

  // What receives a gradient that is added to it.
  Tensor& sum_for_addition() {
    require(dtype == DType::f32, op, "a gradient is added to one of {}", name_of(dtype));
    if (!sum.defined())
      sum = Tensor::zeros(shape);
    else if (backward && !is_alone(sum))
      sum = copy_of(sum);
    fresh = false;
    return sum;
  }
};

struct Variable::Node {
  Tensor value;
  uint64_t version = 0;
  std::shared_ptr<Gradient> gradient = {};  // null: it requires none

  explicit Node(Tensor v) : value(std::move(v)) {}
};

// How often the tape of a value still uses each of some leaves.
class Variable::Uses {
 public:
  Uses(const Variable& root, std::span<const Variable> leaves, const std::function<void(size_t)>& complete)
      : complete_(complete) {
    for (size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].requires_grad()) leaves_.emplace(leaves[i].node_->gradient.get(), Leaf{.index = i});
    std::unordered_set<const Gradient*> seen;
    std::vector<const Gradient*> rest = {root.node_->gradient.get()};
    while (!rest.empty()) {
      const Gradient& node = *rest.back();
      rest.pop_back();
      for (const std::shared_ptr<Gradient>& input : node.inputs) {
        if (!input) continue;
        if (const auto leaf = leaves_.find(input.get()); leaf != leaves_.end()) ++leaf->second.uses;
        if (input->backward && seen.insert(input.get()).second) rest.push_back(input.get());
      }
    }
    for (const auto& [gradient, leaf] : leaves_)
      if (leaf.uses == 0) complete_(leaf.index);
  }

  // A node has given its inputs their gradients.
  void end_of(const Gradient& node) {
    for (const std::shared_ptr<Gradient>& input : node.inputs)
      if (const auto leaf = leaves_.find(input.get()); leaf != leaves_.end() && --leaf->second.uses == 0)
        complete_(leaf->second.index);
  }
  // Of those that no gradient has reached by all of their uses.
  void end() {
    for (const auto& [gradient, leaf] : leaves_)
      if (leaf.uses > 0) complete_(leaf.index);
  }

 private:
  struct Leaf {
    size_t index = 0;
    int64_t uses = 0;
  };
  std::unordered_map<const Gradient*, Leaf> leaves_;
  const std::function<void(size_t)>& complete_;
};

Variable::Variable(Tensor value) : constant_(std::move(value)) {}

Variable::Variable(Tensor value, Options options) : node_(std::make_shared<Node>(std::move(value))) {
  if (!options.requires_grad) return;
  const DType type = node_->value.dtype();
  require(type == DType::f32 || type == DType::bf16, "Variable", "only f32 and bf16 values have gradients, got {}",
          name_of(type));
  node_->gradient = std::make_shared<Gradient>(node_->value);
}

const Tensor& Variable::value() const& {
  if (node_) return node_->value;
  if (!constant_.defined()) fail("Variable", "the variable is undefined");
  return constant_;
}

Tensor Variable::value() && {
  if (!node_ && constant_.defined()) return std::move(constant_);
  return std::as_const(*this).value();
}

Tensor& Variable::mutable_value() {
  require(defined() && (!requires_grad() || !node_->gradient->backward), "Variable::mutable_value",
          "only a leaf may be written");
  if (!node_) node_ = std::make_shared<Node>(std::move(constant_));
  ++node_->version;
  return node_->value;
}

bool Variable::requires_grad() const { return node_ && node_->gradient; }

const Tensor& Variable::grad() const {
  static const Tensor none;
  return !requires_grad() || node_->gradient->fresh ? none : node_->gradient->sum;
}

Tensor& Variable::mutable_grad() {
  require(requires_grad() && !node_->gradient->fresh, "Variable::mutable_grad",
          "the variable has no gradient: call backward() first");
  return node_->gradient->sum;
}

void Variable::zero_grad() {
  if (!requires_grad()) return;
  node_->gradient->fresh = true;
  node_->gradient->sum = Tensor();
}

uint64_t Variable::version() const { return node_ ? node_->version : 0; }

bool operator==(const Variable& a, const Variable& b) {
  if (a.node_ || b.node_) return a.node_ == b.node_;
  const Tensor &x = a.constant_, &y = b.constant_;
  return x.storage() == y.storage() && x.offset() == y.offset() && x.dtype() == y.dtype() &&
         x.shape() == y.shape() && x.strides() == y.strides();
}

void Variable::backward() const { run_backward(one_of(value()), nullptr); }

void Variable::backward(const Tensor& upstream) const { run_backward(upstream, nullptr); }

void Variable::backward(std::span<const Variable> leaves, const std::function<void(size_t)>& complete) const {
  const Tensor one = one_of(value());
  require_gradient(*this);
  Uses uses(*this, leaves, complete);
  run_backward(one, &uses);
  uses.end();
}

void Variable::run_backward(const Tensor& upstream, Uses* uses) const {
  require_gradient(*this);
  const OpScope tape("tape", OpPass::backward);
  const auto older = [](const std::shared_ptr<Gradient>& a, const std::shared_ptr<Gradient>& b) {
    return a->sequence < b->sequence;
  };
  std::priority_queue<std::shared_ptr<Gradient>, std::vector<std::shared_ptr<Gradient>>, decltype(older)> waiting(
      older);
  node_->gradient->receive(upstream);
  if (node_->gradient->backward) waiting.push(node_->gradient);
  while (!waiting.empty()) {
    const std::shared_ptr<Gradient> node = waiting.top();
    waiting.pop();
    std::vector<bool> needs;
    for (const std::shared_ptr<Gradient>& input : node->inputs) needs.push_back(input != nullptr);
    Tensor grad = std::move(node->sum);
    node->sum = Tensor();
    std::vector<Tensor> grads;
    {
      const OpScope scope(node->op);
      grads = node->backward(grad, needs);
      if (node->add_to_first && needs[0]) {
        Gradient& input = *node->inputs[0];
        const bool first = input.backward && !input.sum.defined();
        node->add_to_first(grad, input.sum_for_addition());
        if (first) waiting.push(node->inputs[0]);
      }
    }
    require(grads.size() == needs.size(), node->op, "{} gradients for {} inputs", grads.size(), needs.size());
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!needs[i] || !grads[i].defined()) continue;
      Gradient& input = *node->inputs[i];
      const bool first = input.backward && !input.sum.defined();
      input.receive(std::move(grads[i]));
      grads[i] = Tensor();
      if (first) waiting.push(node->inputs[i]);
    }
    if (uses) uses->end_of(*node);
    // What the op saved is not needed again: its memory can be reused by the remaining nodes.
    node->backward = [op = node->op](const Tensor&, const std::vector<bool>&) -> std::vector<Tensor> {
      fail(op, "backward() was called twice on the same values; compute them again first");
    };
    node->recomputation = nullptr;
    node->add_to_first = nullptr;
    node->inputs.clear();
  }
}

const Recomputation& Variable::recomputation() const {
  static const Recomputation none;
  return requires_grad() ? node_->gradient->recomputation : none;
}

Variable Variable::recomputed_by(Recomputation recomputation) && {
  if (requires_grad()) node_->gradient->recomputation = std::move(recomputation);
  return std::move(*this);
}

Variable Variable::adding_to_first(AddGradient add) && {
  if (requires_grad()) node_->gradient->add_to_first = std::move(add);
  return std::move(*this);
}

Variable record_node(std::string_view op, std::span<const Variable> inputs, Tensor value, Backward backward) {
  Variable out(std::move(value), Variable::Options{});
  auto gradient = std::make_shared<Variable::Gradient>(out.value());
  gradient->op = op;
  gradient->sequence = next_sequence.fetch_add(1, std::memory_order_relaxed);
  gradient->backward = std::move(backward);
  for (const Variable& input : inputs) gradient->inputs.push_back(input.node_ ? input.node_->gradient : nullptr);
  out.node_->gradient = std::move(gradient);
  return out;
}

Tensor in_place_or_empty(const Tensor& grad) {
  return is_alone(grad) ? grad : Tensor::empty(grad.shape(), grad.dtype());
}

bool recording(std::span<const Variable> inputs) { return grad_enabled && any_requires_grad(inputs); }

bool recording(std::initializer_list<Input> inputs) { return grad_enabled && any_requires_grad(inputs); }

bool recording() { return grad_enabled; }

WithGrad::WithGrad() : before_(grad_enabled) { grad_enabled = true; }
WithGrad::~WithGrad() { grad_enabled = before_; }

NoGrad::NoGrad() : before_(grad_enabled) { grad_enabled = false; }
NoGrad::~NoGrad() { grad_enabled = before_; }

}  // namespace qkv
