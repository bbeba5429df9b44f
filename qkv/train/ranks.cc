#include "qkv/train/ranks.h"

#include <type_traits>
#include <utility>

#include "qkv/base/collectives.h"
#include "qkv/base/error.h"

namespace qkv {

static_assert(std::is_trivially_copyable_v<RankOrder>);  // sent as bytes

void give_order(Communicator& c, RankOrder order) { c.broadcast(0, writable_bytes_of(std::span(&order, 1))); }

TrainResult follow(Update& update, Communicator& c) {
  for (;;) {
    RankOrder order;
    c.broadcast(0, writable_bytes_of(std::span(&order, 1)));
    switch (order.kind) {
      case RankOrder::Kind::update: update.step(order.rate, update.sum_gradients(order.step, order.whole)); break;
      case RankOrder::Kind::state: update.state(); break;
      case RankOrder::Kind::end: return order.result;
    }
  }
}

std::string broadcast_text(Communicator& c, std::string text) {
  uint64_t size = text.size();
  c.broadcast(0, writable_bytes_of(std::span(&size, 1)));
  text.resize(size);
  c.broadcast(0, writable_bytes_of(text));
  return text;
}

void check_same_data(const TrainingTask& task, Communicator& c) {
  std::string mine = std::to_string(task.fingerprint());
  for (const auto& [file, checksum] : task.vocabulary()) mine += " " + file + " " + checksum;
  const std::vector<std::vector<std::byte>> all = all_gather_bytes(c, bytes_of(mine));
  for (size_t rank = 1; rank < all.size(); ++rank)
    require<InputError>(
        all[rank] == all[0], "train",
        "process {} has read other training data, or made another vocabulary, than process 0: every "
        "process reads the same files",
        rank);
}

}  // namespace qkv
