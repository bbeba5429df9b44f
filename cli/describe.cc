#include "qkv/model/describe.h"

#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/model/model_file.h"

namespace qkv::cli {
namespace {

struct DescribeCommand {
  std::string model, recipe;
  int64_t vocabulary_size = 8000;

  int run() const {
    require<UsageError>(model.empty() != recipe.empty(), "qkv describe", "give --model FOLDER or --recipe NAME");
    TransformerConfig config;
    if (!model.empty()) {
      config = load_config(model);
    } else {
      config = qkv::recipe(recipe);
      config.source_vocabulary = config.target_vocabulary = vocabulary_size;
      config.check();
    }
    fmt::print("{}", describe(config));
    return 0;
  }
};

}  // namespace

Command add_describe(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("describe", "print a model layer by layer: parameters, FLOPs, bytes");
  const auto command = std::make_shared<DescribeCommand>();
  flag(app, "--model", command->model, "a model folder", "FOLDER");
  flag(app, "--recipe", command->recipe, "or a recipe: transformer-tiny, -small, -base, -big", "NAME");
  flag(app, "--vocabulary-size", command->vocabulary_size, "of the recipe", "TOKENS");
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
