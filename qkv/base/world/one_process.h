// The communicator of a process that is alone.
#pragma once

#include "qkv/base/communicator.h"
#include "qkv/base/error.h"

namespace qkv {

class OneProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 private:
  void transfer(int to, Bytes, int from, MutableBytes) override {
    fail("exchange", "there is no rank {} beside rank 0", to == no_rank ? from : to);
  }
};

}  // namespace qkv
