#include "qkv/layer/mechanism/table.h"

namespace qkv {
namespace {

template <class... Mechanisms>
std::vector<AttentionMechanismPtr> mechanisms_of(const Mechanisms&... mechanisms) {
  return {mechanism_of(mechanisms)...};
}

}  // namespace

std::span<const AttentionMechanismPtr> attention_mechanisms() {
  static const std::vector<AttentionMechanismPtr> all =
      mechanisms_of(Full{},  //
                    SlidingWindow{}, Dilated{}, Strided{}, Longformer{}, BigBird{}, BigBirdEvaluation{}, Prefix{},
                    LongformerSeparate{},                                                         //
                    Dot{}, Bilinear{}, Additive{}, Cosine{}, Distance{}, Gaussian{}, Location{},  //
                    Boxcar{}, Epanechnikov{}, Triangular{}, Constant{},                           //
                    Softcap{}, SoftmaxWithSink{}, LocalM{}, LocalP{},                             //
                    Rotary{}, Alibi{}, FalconAlibi{}, RelativeBias{}, Bias{}, MultiToken{});
  return all;
}

}  // namespace qkv
