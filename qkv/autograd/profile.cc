#include "qkv/autograd/profile.h"

namespace qkv {

namespace internal {
constinit thread_local Profile* active_profile = nullptr;
}  // namespace internal

int Profile::begin(std::string_view name, const OpWork& work, OpPass pass) {
  if (pass == OpPass::forward && open_ >= 0 && spans_[static_cast<size_t>(open_)].pass == OpPass::backward)
    pass = OpPass::backward;
  spans_.push_back({.name = name, .pass = pass, .parent = open_, .begin_ns = now_ns(), .work = work});
  return open_ = static_cast<int>(spans_.size()) - 1;
}

void Profile::end(int span) {
  Span& ended = spans_[static_cast<size_t>(span)];
  ended.end_ns = now_ns();
  const int64_t duration = ended.end_ns - ended.begin_ns;
  ended.own_ns += duration;
  if (ended.parent >= 0) spans_[static_cast<size_t>(ended.parent)].own_ns -= duration;
  open_ = ended.parent;
}

ProfileScope::ProfileScope(Profile* profile) : before_(internal::active_profile) {
  internal::active_profile = profile;
}
ProfileScope::~ProfileScope() { internal::active_profile = before_; }

void Profile::count(const OpWork& work) {
  if (open_ < 0) return;
  OpWork& sum = spans_[static_cast<size_t>(open_)].work;
  sum.flops += work.flops;
  sum.bytes += work.bytes;
  sum.numbers = work.numbers;
  sum.shape = work.shape;
  sum.weight = work.weight;
}

}  // namespace qkv
