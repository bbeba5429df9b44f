#include <memory>

#include "cli/architecture.h"
#include "cli/attention_flags.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/measure/attention_comparison.h"
#include "qkv/model/model_cost.h"
#include "qkv/picture/cost_curves.h"
#include "qkv/published/model_folder.h"

namespace qkv::cli {
namespace {

constexpr const char* explain_command = "qkv explain";

struct ExplainCommand {
  AttentionSizes sizes;
  std::string mechanism = "full", model, recipe, output;
  std::vector<Option*> of_attention;  // flags
  int64_t vocabulary_size = 32'000;
  DescribeOptions lengths;
  Option *source_length = nullptr, *target_length = nullptr, *sizes_of_vocabulary = nullptr;
  bool quiet = false;

  int run() {
    require<UsageError>(model.empty() || recipe.empty(), explain_command,
                        "--model and --recipe exclude each other");
    model.empty() && recipe.empty() ? explain_attention() : explain_model();
    if (!output.empty() && !quiet) say("growth: " + output);
    return 0;
  }

 private:
  void explain_attention() const {
    for (const Option* option : {source_length, target_length, sizes_of_vocabulary})
      require<UsageError>(option->count() == 0, explain_command, "{} is for --model and --recipe",
                          option->get_name());
    const AttentionWorkload work = with_mechanism(attention_workload(sizes, explain_command), mechanism,
                                                  fmt::format("{}: --attention '{}'", explain_command, mechanism));
    const std::vector<AttentionGrowth> growth = attention_growth(work);
    print(explain(work) + "\n" + growth_table(work, growth), growth);
  }

  void explain_model() {
    for (const Option* option : of_attention)
      require<UsageError>(option->count() == 0 || option->get_name() == "--batch", explain_command,
                          "{} is for an attention by itself; --model and --recipe have their own",
                          option->get_name());
    ModelConfig config = model.empty() ? qkv::recipe(recipe) : open_config("explain", model);
    if (model.empty()) config.set_vocabularies(vocabulary_size, vocabulary_size);
    for (const auto& [option, length] :
         {std::pair(source_length, &lengths.source_length), std::pair(target_length, &lengths.target_length)})
      if (option->count() == 0) *length = std::min(*length, config.position_limit());
    if (!model.empty()) lengths.weights = open_model_folder(model)->stored_weights();
    lengths.batch = sizes.batch;
    print(explain(config, lengths), model_growth(config, lengths));
  }

  template <class Growth>
  void print(const std::string& text, const Growth& growth) const {
    if (!output.empty()) growth_curves(growth).save(output);
    Output out("-");
    out.print(text);
    out.close();
  }
};

}  // namespace

Command add_explain(App& parent) {
  App& app =
      *parent.add_subcommand("explain", "count what an attention or a model computes and reads, and its growth");
  const auto c = std::make_shared<ExplainCommand>();
  app.group("One attention");
  Option* mechanism =
      flag(app, "--attention", c->mechanism,
           "mechanism: a variant, also with kv-heads=N, or with stored, whose weights are kept", "VARIANT");
  c->of_attention = attention_flags(app, c->sizes);
  c->of_attention.push_back(mechanism);
  app.group("Or a model");
  model_flag(app, c->model);
  recipe_flag(app, c->recipe, "or a recipe: transformer-tiny, -small, -base, -big, bahdanau, luong");
  c->sizes_of_vocabulary =
      flag(app, "--vocabulary-size", c->vocabulary_size, "vocabulary size of a recipe", "TOKENS");
  c->source_length = flag(app, "--source-length", c->lengths.source_length, "length S of a source", "TOKENS");
  c->target_length = flag(app, "--target-length", c->lengths.target_length, "length T of a target", "TOKENS");
  app.group("Output");
  flag(app, "--output", c->output, "plot of the growth as .svg, .html or .png", "FILE");
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv explain --heads 8 --kv-heads 2 --queries 4096 --causal --attention window=256\n"
      "  qkv explain --heads 32 --kv-heads 8 --head-width 128 --queries 1 --keys 8192   # a step of decoding\n"
      "  qkv explain --model my-model --source-length 40 --target-length 40 --output growth.svg");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
