#include "qkv/model/encoder_decoder.h"

#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

void check_targets(const Tensor& target_in, const Tensor& target_out) {
  require(target_out.shape() == target_in.shape(), "loss",
          "target_in is {}, target_out must have its shape, got {}", describe("BT", target_in.shape()),
          describe("BT", target_out.shape()));
}

}  // namespace

CrossEntropy EncoderDecoder::loss(const Encoded& encoded, const Tensor& target_in, const Tensor& target_out,
                                  const CrossEntropyOptions& options, Pass& pass) const {
  check_targets(target_in, target_out);
  return loss(decode(target_in, encoded, pass), target_out, options);
}

CrossEntropy EncoderDecoder::loss(const Tensor& source, std::vector<int32_t> lengths, const Tensor& target_in,
                                  const Tensor& target_out, const CrossEntropyOptions& options, Pass& pass) const {
  check_targets(target_in, target_out);
  // The loss takes much memory: what it does not need, such as the output of the encoder, is freed before.
  const Variable hidden = decode(target_in, encode(source, std::move(lengths), pass), pass);
  return loss(hidden, target_out, options);
}

}  // namespace qkv
