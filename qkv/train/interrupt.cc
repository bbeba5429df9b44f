#include "qkv/train/interrupt.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

// A signal handler has access to globals only.
volatile std::sig_atomic_t received = 0;
bool handling = false;

void handle(int signal) { received = signal; }

}  // namespace

Interrupt::Interrupt() {
  require(!handling, "Interrupt", "another Interrupt handles the signals already");
  handling = true;
  received = 0;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < signals.size(); ++i) {
    sigaction(signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(signals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before_[i], nullptr);
  handling = false;
}

bool Interrupt::requested() const { return received != 0; }

int Interrupt::signal() const { return received; }

}  // namespace qkv
