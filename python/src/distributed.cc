// Attention across processes (qkv/attention/distributed.h). A Python function sends the messages of a Communicator.

#include "qkv/attention/distributed.h"

#include <array>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <tuple>
#include <utility>

#include "python/src/bind.h"
#include "python/src/callback.h"
#include "python/src/parts.h"
#include "qkv/attention/distributed_multi_token.h"
#include "qkv/base/error.h"

namespace qkv::python {
namespace {

// transfer(to, sent, from, received): ranks, -1 for none, and memoryviews of bytes, which are valid during the call.
class PythonCommunicator final : public Communicator {
 public:
  PythonCommunicator(int rank, int size, nb::handle transfer) : rank_(rank), size_(size), transfer_(transfer) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

 private:
  void transfer(int to, Bytes sent, int from, MutableBytes received) override {
    const nb::gil_scoped_acquire lock;
    transfer_(to, view(sent.data(), sent.size()), from, view(received.data(), received.size()));
  }

  // Writable also if it is sent: PyTorch warns of memory that is not.
  static nb::object view(const std::byte* data, size_t size) {
    static char nothing = 0;
    char* memory = size > 0 ? reinterpret_cast<char*>(const_cast<std::byte*>(data)) : &nothing;
    return nb::steal(PyMemoryView_FromMemory(memory, static_cast<Py_ssize_t>(size), PyBUF_WRITE));
  }

  int rank_, size_;
  Callback transfer_;
};

using Blocks = std::vector<std::tuple<int64_t, int64_t, int>>;  // begin, end, rank

SequenceLayout layout_of(const Blocks& blocks) {
  std::vector<SequenceBlock> all;
  for (const auto& [begin, end, rank] : blocks) all.push_back({begin, end, rank});
  return SequenceLayout(std::move(all));
}

Distribution distribution_named(const std::string& name) {
  if (name == "automatic") return Distribution::automatic;
  if (name == "ring") return Distribution::ring;
  require(name == "heads", "distributed_attention", "distribution must be automatic, ring or heads, got '{}'",
          name);
  return Distribution::heads;
}

// The result of a call, with what its backward needs.
class DistributedResult {
 public:
  DistributedResult(nb::object communicator, Variable out, std::vector<Variable> inputs)
      : communicator_(std::move(communicator)), out_(std::move(out)), inputs_(std::move(inputs)) {}

  nb::any out(bool numpy) const { return array_of(out_.value(), numpy); }

  // The gradients of q, k, v and of the parameters of all parts, or of the convolutions; None of what was not given. Once.
  nb::any backward(nb::handle dout, bool numpy) {
    const Tensor upstream = tensor_of(dout, "the gradient of the output");
    {
      const nb::gil_scoped_release unlocked;
      out_.backward(upstream);
    }
    nb::list all;
    for (const Variable& x : inputs_) {
      if (x.defined())
        all.append(array_of(x.grad().defined() ? x.grad() : Tensor::zeros(x.shape()), numpy));
      else
        all.append(nb::none());
    }
    return nb::borrow<nb::any>(all);
  }

 private:
  nb::object communicator_;  // which the backward uses
  Variable out_;
  std::vector<Variable> inputs_;
};

DistributedResult distribute(nb::object communicator, const Blocks& queries, const Blocks& keys,
                             const std::string& distribution, nb::tuple qkv, nb::tuple parts, bool requires_grad) {
  std::vector<Variable> inputs;
  for (const char* name : {"q", "k", "v"}) inputs.push_back(variable_of(qkv[inputs.size()], name, requires_grad));
  const Arguments arguments{parts[0], parts[1], parts[2], parts[3], parts[4]};
  const AttentionOptions options = arguments.options();
  const DistributedSequence sequence = {nb::cast<PythonCommunicator&>(communicator), layout_of(queries),
                                        layout_of(keys), distribution_named(distribution)};
  Variable out;
  {
    const nb::gil_scoped_release unlocked;
    out = distributed_attention(inputs[0], inputs[1], inputs[2], sequence, options);
  }
  for (const Variable& parameter : arguments.parameters()) inputs.push_back(parameter);
  return {std::move(communicator), std::move(out), std::move(inputs)};
}

// arrays: q, k, v, pre_conv, pre_mix, post_conv, post_head, post_mix, of which the last five may be None.
DistributedResult distribute_multi_token(nb::object communicator, const Blocks& queries, const Blocks& keys,
                                         nb::tuple arrays, const std::string& pad_key, nb::handle mask,
                                         std::optional<float> scale, bool requires_grad) {
  constexpr std::array names = {"q", "k", "v", "pre_conv", "pre_mix", "post_conv", "post_head", "post_mix"};
  std::vector<Variable> inputs;
  for (size_t i = 0; i < names.size(); ++i)
    inputs.push_back(arrays[i].is_none() ? Variable() : variable_of(arrays[i], names[i], requires_grad));
  const MultiTokenOptions options = multi_token_options({inputs.begin() + 3, inputs.end()}, pad_key, mask, scale);
  const DistributedSequence sequence = {nb::cast<PythonCommunicator&>(communicator), layout_of(queries),
                                        layout_of(keys)};
  Variable out;
  {
    const nb::gil_scoped_release unlocked;
    out = distributed_multi_token_attention(inputs[0], inputs[1], inputs[2], sequence, options);
  }
  return {std::move(communicator), std::move(out), std::move(inputs)};
}

// The fields of qkv.torch.DistributedPlan.
nb::tuple plan_of(PythonCommunicator& communicator, const Blocks& queries, const Blocks& keys,
                  const std::string& distribution, nb::tuple qkv, nb::tuple parts, bool requires_grad) {
  const auto input = [&](size_t i, const char* name) { return variable_of(qkv[i], name, requires_grad); };
  const Variable q = input(0, "q"), k = input(1, "k"), v = input(2, "v");
  const AttentionOptions options = Arguments{parts[0], parts[1], parts[2], parts[3], parts[4]}.options();
  const DistributedSequence sequence = {communicator, layout_of(queries), layout_of(keys),
                                        distribution_named(distribution)};
  DistributedPlan p;
  {
    const nb::gil_scoped_release unlocked;
    p = distributed_plan(q, k, v, sequence, options);
  }
  return nb::make_tuple(p.chosen == Distribution::heads ? "heads" : "ring", p.ring_forward, p.ring_backward,
                        p.heads_forward, p.heads_backward, p.why_not_heads, p.text());
}

}  // namespace

void bind_distributed(nb::module_& m) {
  const nb::arg one = nb::arg();
  const auto maybe = nb::arg().none();
  nb::class_<PythonCommunicator>(m, "Communicator").def(nb::init<int, int, nb::handle>());
  nb::class_<DistributedResult>(m, "DistributedResult")
      .def("out", &DistributedResult::out)
      .def("backward", &DistributedResult::backward);
  // The blocks of queries and of keys, automatic, ring or heads, (q, k, v), the five parts, whether a gradient is needed.
  m.def("distributed_attention", &distribute, one, one, one, one, one, one, one);
  // The blocks of queries and of keys, the arrays, pad_key, mask, scale, whether a gradient is needed.
  m.def("distributed_multi_token_attention", &distribute_multi_token, one, one, one, one, one, maybe, maybe, one);
  m.def("distributed_plan", &plan_of, one, one, one, one, one, one, one);
}

}  // namespace qkv::python
