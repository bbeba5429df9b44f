// Terms that a person may look for among the mechanisms of attention variants, and where they are instead: arguments of
// a batch or a call, options of the model, or mechanisms with another name.
//
//     used_elsewhere("documents")      // "the ids of a packed row come with the batch: ..."; "" for any other word
#pragma once

#include <span>
#include <string_view>

namespace qkv {

struct MechanismElsewhere {
  std::string_view name, advice;
};
std::span<const MechanismElsewhere> mechanisms_elsewhere();
std::string_view used_elsewhere(std::string_view name);

}  // namespace qkv
