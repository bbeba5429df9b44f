#include "qkv/train/interrupt.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

// A signal handler can only speak to a global.
volatile std::sig_atomic_t received = 0;
bool listening = false;

void handle(int signal) { received = signal; }

}  // namespace

Interrupt::Interrupt() {
  require(!listening, "Interrupt", "somebody else waits for the signals already");
  listening = true;
  received = 0;
  struct sigaction action = {};
  action.sa_handler = handle;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &int_before_);
  sigaction(SIGTERM, &action, &term_before_);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &int_before_, nullptr);
  sigaction(SIGTERM, &term_before_, nullptr);
  listening = false;
}

bool Interrupt::requested() const { return received != 0; }

int Interrupt::signal() const { return received; }

}  // namespace qkv
