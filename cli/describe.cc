#include "qkv/model/describe.h"

#include <algorithm>
#include <memory>

#include "cli/architecture.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_folder.h"
#include "qkv/model/describe_layer.h"
#include "qkv/published/model_folder.h"

namespace qkv::cli {
namespace {

struct DescribeCommand {
  std::string model, recipe, layer;
  int64_t vocabulary_size = 8000;
  ArchitectureSettings architecture;
  std::vector<Option*> architecture_options;
  DescribeOptions options;
  Option *source_length = nullptr, *target_length = nullptr;

  int run() {
    const int given = !model.empty() + !recipe.empty() + !layer.empty();
    require<UsageError>(given <= 1, "qkv describe", "--model, --recipe and --layer exclude each other");
    const bool flags = !given_names(architecture_options).empty();
    require<UsageError>(given == 1 || flags, "qkv describe",
                        "give --model FOLDER, --recipe NAME, --layer TEXT, or architecture flags");
    require<UsageError>(!flags || (model.empty() && layer.empty()), "qkv describe",
                        "architecture flags can be given with --recipe or on their own");
    if (!layer.empty()) {
      fmt::print("{}", describe_layer(layer, options));
      return 0;
    }
    const ModelConfig config = model.empty() ? of_flags() : open_config("describe", model);
    for (const auto& [option, length] :
         {std::pair(source_length, &options.source_length), std::pair(target_length, &options.target_length)})
      if (option->count() == 0) *length = std::min(*length, config.position_limit());
    if (!model.empty()) options.weights = open_model_folder(model)->stored_weights();
    fmt::print("{}", describe(config, options));
    return 0;
  }

 private:
  ModelConfig of_flags() {
    if (!recipe.empty())
      architecture = ArchitectureSettings(qkv::recipe(recipe));
    else if (is_recurrent(architecture.architecture()))
      architecture = ArchitectureSettings(qkv::recipe(name_of(architecture.architecture())));
    set_given_again(architecture_options);  // over the recipe
    ModelConfig config = architecture.config("model");
    config.set_vocabularies(vocabulary_size, vocabulary_size);
    config.check();
    return config;
  }
};

}  // namespace

Command add_describe(App& parent) {
  App& app =
      *parent.add_subcommand("describe", "print the layers of a model, or one layer: parameters, FLOPs, bytes");
  const auto c = std::make_shared<DescribeCommand>();
  app.group("What is described");
  model_flag(app, c->model);
  recipe_flag(app, c->recipe, "or a recipe: transformer-tiny, -small, -base, -big, bahdanau, luong");
  flag(app, "--layer", c->layer,
       "or a single layer: attention, ffn, norm, linear, embedding, gru or lstm, with its sizes", "TEXT");
  app.group("Sizes");
  flag(app, "--vocabulary-size", c->vocabulary_size, "vocabulary size, without --model", "TOKENS");
  c->source_length = flag(app, "--source-length", c->options.source_length, "length S of a source", "TOKENS");
  c->target_length = flag(app, "--target-length", c->options.target_length,
                          "length T of a target, or of the sequence of a layer", "TOKENS");
  flag(app, "--batch", c->options.batch, "number of sentences computed together, for the arithmetic intensities",
       "N");
  app.group("Architecture");
  c->architecture_options = architecture_flags(app, c->architecture);
  app.footer(
      "Examples:\n"
      "  qkv describe --recipe transformer-base --self-attention window=64\n"
      "  qkv describe --architecture causal --decoder-layers 12 --d-model 768 --heads 12 --ffn 3072\n"
      "  qkv describe --layer \"attention d=512 heads=8 kv-heads=2 window=64\" --target-length 1000\n"
      "  qkv describe --layer \"ffn d=512 ffn=1376 gated no-bias\"");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
