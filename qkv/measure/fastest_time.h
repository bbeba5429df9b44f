// The time of the fastest of several calls, in seconds: on a machine that does other work too, the others measure that.
//
//     double seconds = fastest_time(0.3, [&] { y = linear(x, w); });
#pragma once

#include <algorithm>
#include <chrono>

namespace qkv::internal {

// Calls it until so many seconds have passed, and three times at least.
template <class Call>
double fastest_time(double seconds, Call call) {
  using Clock = std::chrono::steady_clock;
  double fastest = 0, all = 0;
  for (int calls = 0; calls < 3 || all < seconds; ++calls) {
    const auto start = Clock::now();
    call();
    const double time = std::chrono::duration<double>(Clock::now() - start).count();
    fastest = calls == 0 ? time : std::min(fastest, time);
    all += time;
  }
  return fastest;
}

}  // namespace qkv::internal
