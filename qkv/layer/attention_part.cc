#include "qkv/layer/attention_part.h"

namespace qkv {

AttentionPart::AttentionPart(AttentionMechanismPtr mechanism, const AttentionSize& size)
    : mechanism_(std::move(mechanism)), size_(size), parameters_(mechanism_->parameters(size)) {
  std::apply(
      [&](auto&... as) { ((as = dynamic_cast<std::remove_reference_t<decltype(as)>>(mechanism_.get())), ...); },
      interfaces_);
}

void AttentionPart::share_parameters_of(const AttentionPart& other) {
  if (!mechanism_->shares_parameters() || !mechanism_->equals(other.mechanism())) return;
  parameters_ = other.parameters_;
  lists_parameters_ = false;
}

void AttentionPart::list(ModuleContents& contents) const {
  if (!lists_parameters_) return;
  for (const auto& [name, parameter] : parameters_) contents.parameter(name, parameter);
}

AttentionOptions attention_options(std::span<const AttentionPart> parts) {
  AttentionOptions options;
  for (const bool prefix : {false, true})  // a prefix is joined to the masks of all others
    for (const AttentionPart& part : parts)
      if ((part.mechanism().facts().role == AttentionMechanism::Role::prefix) == prefix)
        part.mechanism().add_to(options, part);
  return options;
}

}  // namespace qkv
