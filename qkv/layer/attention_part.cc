#include "qkv/layer/attention_part.h"

namespace qkv {

AttentionPart::AttentionPart(const AttentionVariant::Part& part, const AttentionSize& size)
    : mechanism_(part.mechanism), numbers_(part.numbers), size_(size), shapes_(part.parameters(size)) {
  for (const AttentionMechanism::Parameter& p : shapes_) parameters_.push_back(new_parameter(p.shape));
}

void AttentionPart::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  const std::string own = join_name(prefix, std::string(mechanism_->name));
  for (size_t i = 0; i < parameters_.size(); ++i) visitor(join_name(own, shapes_[i].name), parameters_[i]);
}

void AttentionPart::initialise(const std::string& prefix, uint64_t seed) {
  const std::string own = join_name(prefix, std::string(mechanism_->name));
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (shapes_[i].initialise) shapes_[i].initialise(parameters_[i], seed, join_name(own, shapes_[i].name));
}

AttentionOptions attention_options(std::span<const AttentionPart> parts) {
  AttentionOptions options;
  for (const bool prefix : {false, true})  // a prefix is joined to the masks of all others
    for (const AttentionPart& part : parts)
      if (part.mechanism().add_to && (part.mechanism().role == AttentionMechanism::Role::prefix) == prefix)
        part.mechanism().add_to(options, part);
  return options;
}

}  // namespace qkv
