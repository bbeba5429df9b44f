#include "qkv/train/gradient_exchange.h"

#include <vector>

namespace qkv {
namespace {

constexpr auto add_bf16 = [](MutableBytes sum, Bytes term) {
  auto* to = reinterpret_cast<bfloat16*>(sum.data());
  const auto* from = reinterpret_cast<const bfloat16*>(term.data());
  for (size_t i = 0; i < sum.size() / sizeof(bfloat16); ++i)
    to[i] = bfloat16(static_cast<float>(to[i]) + static_cast<float>(from[i]));
};

Elements elements_of(Tensor& packed) { return {std::as_writable_bytes(packed.span<bfloat16>()), sizeof(bfloat16)}; }

}  // namespace

void reduce_scatter(Communicator& c, Tensor& flat, GradientFormat format, std::span<const Shard> shards) {
  if (format == GradientFormat::f32) return reduce_scatter(c, flat.span<float>(), shards);
  if (c.size() == 1) return;
  Tensor packed = flat.to(DType::bf16);
  reduce_scatter(c, elements_of(packed), shards, add_bf16);
  const Shard own = shards[static_cast<size_t>(c.rank())];
  flat.slice(0, own.begin, own.end).copy_from(packed.slice(0, own.begin, own.end).to(DType::f32));
}

void all_gather(Communicator& c, Tensor& flat, GradientFormat format, std::span<const Shard> shards) {
  if (format == GradientFormat::f32) return all_gather(c, flat.span<float>(), shards);
  if (c.size() == 1) return;
  Tensor packed = flat.to(DType::bf16);
  all_gather(c, elements_of(packed), shards);
  flat.copy_from(packed.to(DType::f32));
}

void all_reduce(Communicator& c, Tensor& flat, GradientFormat format) {
  std::vector<Shard> shards;
  for (int rank = 0; rank < c.size(); ++rank) shards.push_back(shard_of(flat.numel(), rank, c.size()));
  reduce_scatter(c, flat, format, shards);
  all_gather(c, flat, format, shards);
}

}  // namespace qkv
