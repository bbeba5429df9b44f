#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_folder.h"
#include "qkv/pipeline/convert_model.h"

namespace qkv::cli {
namespace {

struct ConvertCommand {
  std::string model, output;
  ModelFormat format = ModelFormat::qkv;
  InferenceOptions stored;

  int run() const {
    open_config("convert", model);  // says what is wrong with the folder
    convert_model(model, output, format, stored);
    return 0;
  }
};

}  // namespace

Command add_convert(App& parent) {
  App& app = *parent.add_subcommand(
      "convert", "convert a model to the format of qkv, for llama.cpp, or for Hugging Face transformers");
  const auto c = std::make_shared<ConvertCommand>();
  model_flag(app, c->model)->required();
  flag(app, "--output", c->output, "folder to write, which must be new or empty; with --format gguf a new file",
       "PATH")
      ->required();
  app.group("Output");
  choice(app, "--format", c->format,
         "qkv; gguf: a file of llama.cpp, for the published families that it has; huggingface: Marian, for post-LN "
         "models "
         "with one vocabulary");
  choice(app, "--weights", c->stored.weights,
         "numbers that weights are stored as; automatic: as in the model; bf16 takes half of the space of f32, "
         "int8 a quarter, q4_k a seventh");
  app.footer(
      "Examples:\n"
      "  qkv convert -m opus-mt-en-de -o ours\n"
      "  qkv convert -m ours -o smaller --weights int8\n"
      "  qkv convert -m llama-3.2-1b -o llama-q4_k.gguf --format gguf --weights q4_k\n"
      "  qkv convert -m ours -o marian --format huggingface\n"
      "  ct2-transformers-converter --model marian --output_dir ct2");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
