// Ctrl-C (SIGINT), SIGTERM and the end of a terminal (SIGHUP) as a question asked between two steps. The second
// signal ends the program as ever. One that is ignored, as nohup makes it, stays so.
//
//     Interrupt interrupt;
//     while (!interrupt.requested()) step();
//
// While one lives it has these signals; then they mean what they meant before. One at a time.
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
  int signal() const;  // the first one that came, or 0

 private:
  static constexpr std::array signals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, signals.size()> before_ = {};
};

}  // namespace qkv
