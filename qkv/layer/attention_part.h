// A mechanism of an attention variant in a layer: its parameters.
//
//     AttentionPart part(mechanism_of(Additive{}), size);
//     part.mechanism().add_to(options, part);                                                 // once
//     part.mechanism().add_to_call(options, part, {.q = q, .key_lengths = n, .pass = pass});  // in every call
//
// Parameters are named after the mechanism: "self_attention.additive.query".
#pragma once

#include <tuple>

#include "qkv/layer/attention_variant.h"
#include "qkv/layer/mechanism/optional.h"

namespace qkv {

class AttentionPart final : public Module {
 public:
  AttentionPart(AttentionMechanismPtr mechanism, const AttentionSize& size);

  const AttentionMechanism& mechanism() const { return *mechanism_; }
  const AttentionSize& size() const { return size_; }
  // As one of the interfaces of mechanism/optional.h. Null: it does not have it.
  template <class Interface>
  const Interface* as() const {
    return std::get<const Interface*>(interfaces_);
  }
  const Variable& parameter(size_t i) const { return parameters_[i].second; }
  const Weight& weight(size_t i) const { return parameters_[i].second; }

  // Uses the parameters of the other, which lists them, if the mechanism shares its parameters and the other is equal.
  void share_parameters_of(const AttentionPart& other);

  void list(ModuleContents& contents) const override;

 private:
  bool lists_parameters_ = true;
  AttentionMechanismPtr mechanism_;
  AttentionSize size_;
  AttentionMechanism::Parameters parameters_;
  std::tuple<const RotatesHeads*, const ReplacesAttention*, const ProjectsGlobals*> interfaces_;
};

// The options of attention() that are the same in every call of a layer.
AttentionOptions attention_options(std::span<const AttentionPart> parts);

}  // namespace qkv
