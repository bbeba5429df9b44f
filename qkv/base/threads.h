// Parallel loops: all threads of the library run here.
//
//     set_threads(2);                       // default: default_threads.h
//     parallel_for(rows, [&](int64_t row) { ... });            // items are handed out one by one
//     parallel_ranges(n, 4096, [&](int64_t begin, int64_t end) { ... });   // cut at multiples of the grain
//
// Results do not depend on the number of threads: callers give every item its own output and sum partial results in
// the order of the items. Calls inside a parallel region run serially. The first exception thrown by an item
// is rethrown.
#pragma once

#include <cstdint>
#include <type_traits>

namespace qkv {

int threads();
void set_threads(int count);  // 1 to max_threads()
int max_threads();            // 64, or four times the number of cores if that is more

// The index of the calling thread inside a parallel region, 0 outside: for scratch memory.
int thread_index();

// A reference to a callable, no allocation; the callable must outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... A>
class FunctionRef<R(A...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, A...>)
      FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, A... a) -> R { return (*static_cast<std::remove_reference_t<F>*>(object))(a...); }) {
  }
  R operator()(A... a) const { return call_(object_, a...); }

 private:
  void* object_;
  R (*call_)(void*, A...);
};

void parallel_for(int64_t count, FunctionRef<void(int64_t)> item);
void parallel_ranges(int64_t count, int64_t grain, FunctionRef<void(int64_t, int64_t)> range);

}  // namespace qkv
