// How a model of each architecture learns and does the task of a demo: an encoder-decoder from pairs, a language model
// from lines "SOURCE = TARGET", which a causal one continues after the "=", and a masked one completes by filling in
// the target.
//
//     write_file(folder / demo_file(architecture), demo_text(architecture, task.train));
//     std::unique_ptr<DemoModel> model = open_demo_model(folder / "model");
//     model->answers(sources)
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/demo_task.h"
#include "qkv/pipeline/inspect.h"
#include "qkv/train/options.h"

namespace qkv::cli {

const char* demo_file(Architecture architecture);
std::string demo_text(Architecture architecture, const std::vector<DemoTask::Pair>& pairs);
// Sets the options that the architecture needs, where they differ from an encoder-decoder's.
void adapt_to_architecture(TrainOptions& options);

class DemoModel {
 public:
  virtual ~DemoModel() = default;
  // Greedy.
  virtual std::vector<std::string> answers(std::span<const std::string> sources) const = 0;
  virtual Inspection inspect(const std::string& source) const = 0;
  // The text that the model reads.
  virtual std::string input(const std::string& source) const = 0;
  // A shell command without its flag --model: "echo ... | qkv translate".
  virtual std::string command(const std::string& program, const std::string& source) const = 0;
};
// masks: the number of characters of a target, for a masked model.
std::unique_ptr<DemoModel> open_demo_model(const std::filesystem::path& folder, int64_t masks);

}  // namespace qkv::cli
