#include "qkv/attention/multi_token_cache.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {

MultiTokenCache::MultiTokenCache(MultiTokenOptions options) : options_(std::move(options)) {
  require(options_.history == 0, "MultiTokenCache", "options.history must be 0, the cache sets it; it is {}",
          options_.history);
}

Tensor MultiTokenCache::attend(const Tensor& q, const Tensor& k, const Tensor& v) {
  require(q.rank() == 4 && k.rank() == 4 && q.dim(0) == k.dim(0) && q.dim(2) == k.dim(2) && q.dtype() == k.dtype(),
          "MultiTokenCache", "expected q (B,H,t,D) and k (B,G,t,D) of one type; q is {} {}, k is {} {}",
          name_of(q.dtype()), q.shape(), name_of(k.dtype()), k.shape());
  if (queries_.defined() && !(q.dtype() == queries_.dtype() && q.dim(0) == queries_.dim(0) &&
                              q.dim(1) == queries_.dim(1) && q.dim(3) == queries_.dim(3)))
    fail("MultiTokenCache", "q {} {} does not continue queries {} {}", name_of(q.dtype()), q.shape(),
         name_of(queries_.dtype()), queries_.shape());
  cache_.append(k, v);
  const int64_t before = queries_.defined() ? queries_.dim(2) : 0, T = before + q.dim(2);
  Tensor all = Tensor::empty({q.dim(0), q.dim(1), T, q.dim(3)}, q.dtype());
  if (before > 0) all.slice(2, 0, before).copy_from(queries_);
  all.slice(2, before, T).copy_from(q);

  const NoGrad guard;
  options_.history = before;
  Tensor out = multi_token_attention(all, cache_.keys(), cache_.values(), options_).value();
  queries_ = all.slice(2, T - std::min(T, history_of(options_)), T).clone();
  return out;
}

void MultiTokenCache::reorder(std::span<const int64_t> source) {
  cache_.reorder(source);
  if (queries_.defined()) queries_ = gather_rows(queries_, source);
}

}  // namespace qkv
