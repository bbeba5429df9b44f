// The ranks of a training over processes. Rank 0 runs the session (train/trainer.h): it alone decides, reports, validates and
// writes files. The others follow: they compute their pieces of an update, or give their part of the state, when rank 0
// says so. So all of them end after the same update, whatever the reason.
//
//     give_order(c, {.kind = RankOrder::Kind::update, .step = n, .rate = rate});    // rank 0, before it does the same
//     TrainResult result = follow(update, c);                                       // others, until the end
//
// Errors  an error of one rank must end the others, which may wait for it: run_ranks() and mpirun do that.
#pragma once

#include <cstdint>
#include <string>

#include "qkv/base/communicator.h"
#include "qkv/train/train.h"
#include "qkv/train/update.h"

namespace qkv {

struct RankOrder {
  enum class Kind { update, state, end };
  Kind kind = Kind::end;
  int64_t step = 0;         // update: updates made before it
  double rate = 0;          // update: the learning rate
  bool whole = false;       // update: rank 0 needs the whole gradient
  TrainResult result = {};  // end
};

void give_order(Communicator& c, RankOrder order);
TrainResult follow(Update& update, Communicator& c);

// A text of rank 0 for all ranks.
std::string broadcast_text(Communicator& c, std::string text);

// Error unless all ranks have read the same training data and have the same vocabulary.
void check_same_data(const TrainingTask& task, Communicator& c);

}  // namespace qkv
