#include "qkv/layer/attention_variant.h"

#include <algorithm>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/base/names.h"
#include "qkv/layer/mechanism/optional.h"

namespace qkv {
namespace {

using Role = AttentionMechanism::Role;

void check_arguments(const AttentionMechanism& mechanism, std::string_view where) {
  const std::vector<MechanismArgument> arguments = mechanism.arguments();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (const MechanismArgument::Value value = mechanism.argument(i); !arguments[i].allows(value)) [[unlikely]]
      fail<UsageError>(where, "{}: {}", quoted_name(to_string(mechanism)), arguments[i].error(value_text(value)));
}

}  // namespace

bool AttentionVariant::has(Role role) const {
  return std::ranges::any_of(mechanisms_, [&](const auto& mechanism) { return mechanism->facts().role == role; });
}

bool AttentionVariant::reads_queries() const {
  return std::ranges::all_of(mechanisms_, [](const auto& mechanism) { return mechanism->facts().reads_queries; });
}

bool AttentionVariant::reads_keys() const {
  return std::ranges::all_of(mechanisms_, [](const auto& mechanism) { return mechanism->facts().reads_keys; });
}

bool AttentionVariant::has_global_projections() const {
  return std::ranges::any_of(mechanisms_, [](const auto& mechanism) {
    return dynamic_cast<const ProjectsGlobals*>(mechanism.get()) != nullptr;
  });
}

bool AttentionVariant::depends_on_length() const {
  return std::ranges::any_of(mechanisms_, [](const auto& mechanism) { return mechanism->depends_on_length(); });
}

std::optional<int64_t> AttentionVariant::cache_valid_until() const {
  std::optional<int64_t> shortest;
  for (const AttentionMechanismPtr& mechanism : mechanisms_)
    if (const std::optional<int64_t> length = mechanism->cache_valid_until())
      shortest = std::min(shortest.value_or(*length), *length);
  return shortest;
}

void AttentionVariant::add(AttentionMechanismPtr mechanism, std::string_view where) {
  check_arguments(*mechanism, where);
  const AttentionMechanism::Facts added = mechanism->facts();
  for (const AttentionMechanismPtr& other : mechanisms_) {
    const AttentionMechanism::Facts present = other->facts();
    require<UsageError>(present.name != added.name, where, "'{}' is given twice", added.name);
    require<UsageError>(!present.excludes.contains(added.role) && !added.excludes.contains(present.role), where,
                        "'{}' and '{}' cannot be combined", present.name, added.name);
  }
  mechanisms_.push_back(std::move(mechanism));
}

bool operator==(const AttentionVariant& a, const AttentionVariant& b) {
  return std::ranges::equal(a.mechanisms_, b.mechanisms_,
                            [](const auto& x, const auto& y) { return x->equals(*y); });
}

AttentionVariant operator+(AttentionVariant a, const AttentionVariant& b) {
  for (const AttentionMechanismPtr& mechanism : b.mechanisms()) a.add(mechanism);
  return a;
}

void check_variant(const AttentionVariant& variant, const AttentionSize& size, std::string_view where) {
  for (const AttentionMechanismPtr& mechanism : variant.mechanisms()) {
    const AttentionMechanism::Facts facts = mechanism->facts();
    require<UsageError>(size.use == AttentionUse::cross ? facts.in_cross : facts.in_self, where,
                        "'{}' is for {} only", facts.name, facts.in_self ? "self attention" : "cross attention");
    if (facts.role == Role::prefix && !variant.has(Role::mask) && !variant.has(Role::global_projections))
        [[unlikely]]
      fail<UsageError>(where, "{} needs another mask in the variant, as in window=64+prefix=4",
                       quoted_name(to_string(*mechanism)));
    if (const std::string error = mechanism->error(size); !error.empty()) [[unlikely]]
      fail<UsageError>(where, "{}: {}", quoted_name(to_string(*mechanism)), error);
  }
}

}  // namespace qkv
