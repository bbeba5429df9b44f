// An attention variant: the mechanisms of a layer, joined by +. Each is an aggregate of layer/mechanism/.
//
//     AttentionVariant variant = SlidingWindow{64} + Softcap{30};
//     MultiHeadAttention layer({.d_model = 512, .heads = 8, .variant = BigBird{.block = 8} + Rotary{.base = 1e5}});
//     if (const Rotary* rotary = variant.get<Rotary>()) ... rotary->base ...
//
// The default, Full{}, has none. The text form is for the entry points: layer/attention_variant_text.h.
// Errors: UsageError for an argument out of its range and for mechanisms that cannot be combined.
#pragma once

#include <concepts>

#include "qkv/layer/mechanism/mechanism_of.h"
#include "qkv/layer/mechanism/table.h"

namespace qkv {

// SlidingWindow, Softcap, ...
template <class T>
concept AttentionMechanismType = requires(const T& x) {
  { mechanism_of(x) } -> std::same_as<AttentionMechanismPtr>;
};

class AttentionVariant {
 public:
  AttentionVariant() = default;
  template <AttentionMechanismType T>
  AttentionVariant(const T& mechanism) {  // NOLINT: implicit on purpose
    if constexpr (!std::is_same_v<T, Full>) add(mechanism_of(mechanism));
  }

  const std::vector<AttentionMechanismPtr>& mechanisms() const { return mechanisms_; }
  // Null: the variant does not have that mechanism.
  template <AttentionMechanismType T>
  const T* get() const {
    for (const AttentionMechanismPtr& mechanism : mechanisms_)
      if (const auto* found = dynamic_cast<const MechanismOf<T>*>(mechanism.get())) return &found->value;
    return nullptr;
  }
  bool has(AttentionMechanism::Role role) const;
  // Whether a layer needs projections of queries and of keys.
  bool reads_queries() const;
  bool reads_keys() const;
  // Whether a layer has separate projections for global positions.
  bool has_global_projections() const;

  // AttentionMechanism::depends_on_length() of any; the shortest cache_valid_until() of all.
  bool depends_on_length() const;
  std::optional<int64_t> cache_valid_until() const;

  // UsageError, beginning with `where`, when the mechanism cannot be combined with the others.
  void add(AttentionMechanismPtr mechanism, std::string_view where = "attention variant");

  // The same mechanisms with the same arguments, in the same order.
  friend bool operator==(const AttentionVariant& a, const AttentionVariant& b);

 private:
  std::vector<AttentionMechanismPtr> mechanisms_;
};

AttentionVariant operator+(AttentionVariant a, const AttentionVariant& b);

// UsageError when a layer of that use and size cannot have the variant.
void check_variant(const AttentionVariant& variant, const AttentionSize& size, std::string_view where);

}  // namespace qkv
