// Terms that a person may look for among the mechanisms of attention variants, and where they are instead: what is given
// with a batch or a call, an option of the model, or a mechanism by another name.
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
