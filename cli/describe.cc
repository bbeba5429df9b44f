#include "qkv/model/describe.h"

#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_folder.h"

namespace qkv::cli {
namespace {

struct DescribeCommand {
  std::string model, recipe;
  int64_t vocabulary_size = 8000;

  int run() const {
    require<UsageError>(model.empty() != recipe.empty(), "qkv describe",
                        "give either --model FOLDER or --recipe NAME");
    TransformerConfig config;
    if (!model.empty()) {
      config = open_config("describe", model);
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
  CLI::App& app = *parent.add_subcommand("describe", "print the layers of a model: parameters, FLOPs, bytes");
  const auto command = std::make_shared<DescribeCommand>();
  model_flag(app, command->model);
  recipe_flag(app, command->recipe, "or an architecture: transformer-tiny, -small, -base, -big");
  flag(app, "--vocabulary-size", command->vocabulary_size, "vocabulary size, with --recipe", "TOKENS");
  return {&app, [command] { return command->run(); }};
}

}  // namespace qkv::cli
