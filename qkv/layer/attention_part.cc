#include "qkv/layer/attention_part.h"

namespace qkv {

AttentionPart::AttentionPart(const AttentionVariant::Part& part, const AttentionSize& size)
    : word_(part.word), numbers_(part.numbers), size_(size), shapes_(part.parameters(size)) {
  for (const AttentionMechanism::Parameter& p : shapes_) parameters_.push_back(new_parameter(p.shape));
}

void AttentionPart::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  const std::string own = join_name(prefix, std::string(word_->name));
  for (size_t i = 0; i < parameters_.size(); ++i) visitor(join_name(own, shapes_[i].name), parameters_[i]);
}

void AttentionPart::initialise(const std::string& prefix, uint64_t seed) {
  const std::string own = join_name(prefix, std::string(word_->name));
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (shapes_[i].start) shapes_[i].start(parameters_[i], seed, join_name(own, shapes_[i].name));
}

}  // namespace qkv
