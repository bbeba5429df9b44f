#include "qkv/layer/mechanism/softmax_with_sink.h"

#include "qkv/attention/normalize/softmax.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

class SinkMechanism final : public MechanismOf<SoftmaxWithSink> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "softmax-with-sink",
            .help = "attention sink: a learned score per head that belongs to no key takes part of the weight",
            .role = Role::normalize,
            .excludes = {Role::normalize}};
  }
  Parameters parameters(const AttentionSize& size) const override {
    return {{"scores", Parameter({Axis(size.heads, "H")})}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.normalize = softmax_with_sink(part.parameter(0));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const SoftmaxWithSink& x) { return std::make_shared<SinkMechanism>(x); }

}  // namespace qkv
