// Ctrl-C (SIGINT) and SIGTERM as a question asked between two steps. The second signal ends the program as ever.
//
//     Interrupt interrupt;
//     while (!interrupt.requested()) step();
//
// While one lives it has the two signals; then they mean what they meant before. One at a time.
#pragma once

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
  struct sigaction int_before_ = {}, term_before_ = {};
};

}  // namespace qkv
