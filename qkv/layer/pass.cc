#include "qkv/layer/pass.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {

const Tensor& AttentionLog::weights(AttentionUse use, int64_t layer) const {
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) {
    return e.source == Source{use, layer};
  });
  require(entry != entries.end(), "AttentionLog::weights", "the {}attention of layer {} was not recorded",
          use == AttentionUse::encoder   ? "encoder self-"
          : use == AttentionUse::decoder ? "decoder self-"
                                         : "cross-",
          layer);
  return entry->weights;
}

}  // namespace qkv
