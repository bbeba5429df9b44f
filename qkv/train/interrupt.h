// SIGINT (Ctrl-C), SIGTERM and SIGHUP as a flag to be polled between two steps. A second signal has the default
// effect and ends the program. A signal that is ignored, as under nohup, stays ignored.
//
//     Interrupt interrupt;
//     while (!interrupt.requested()) step();
//
// The destructor restores the previous handlers. Only one may exist at a time.
#pragma once

#include <array>
#include <csignal>

namespace qkv {

class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;
  int signal() const;  // the signal received, or 0

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_ = {};
};

}  // namespace qkv
