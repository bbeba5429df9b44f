#include "qkv/train/update.h"

#include "qkv/train/gradient_norm.h"

namespace qkv {

UpdateOptions update_options(const TrainOptions& options) {
  return {.loss = {.label_smoothing = options.label_smoothing, .r_drop = options.r_drop},
          .accumulate = options.accumulate,
          .clip = options.clip,
          .seed = options.seed,
          .recompute = options.recompute};
}

Update::Update(TrainingTask& task, Optimizer& optimizer, const UpdateOptions& options)
    : task_(task), optimizer_(optimizer), options_(options) {
  task.model().visit([&](const std::string&, Variable& parameter) { parameters_.push_back(parameter); });
}

UpdateSums Update::sum_gradients(int64_t n) {
  UpdateSums sums;
  auto pass_number = static_cast<uint64_t>(n * options_.accumulate);
  // A batch of masked text may have no masked token.
  for (int64_t i = 0; i < options_.accumulate || sums.tokens == 0; ++i) {
    Pass pass{.training = true, .seed = options_.seed, .step = pass_number++, .recompute = options_.recompute};
    const CrossEntropy part = task_.next_loss(options_.loss, pass);
    if (part.count == 0) continue;
    part.loss.backward();
    sums.loss += static_cast<double>(part.loss.value().at<float>({0}));
    sums.tokens += part.count;
  }
  const double mean = 1.0 / static_cast<double>(sums.tokens);
  sums.norm = gradient_norm(parameters_) * mean;
  sums.gradient_scale = mean * clip_factor(sums.norm, options_.clip);
  return sums;
}

void Update::step(double learning_rate, const UpdateSums& sums) {
  optimizer_.step(learning_rate, sums.gradient_scale);
  optimizer_.zero_grad();
}

}  // namespace qkv
