#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include <fmt/core.h>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/pipeline/convert_model.h"

namespace qkv::cli {
namespace {

struct ConvertCommand {
  std::string model, output;
  std::optional<ModelFormat> format;
  InferenceOptions stored;
  bool quiet = false;

  int run() const {
    open_config("convert", model);  // says what is wrong with the folder
    const bool file = output.ends_with(".gguf");
    convert_model(model, output, format.value_or(file ? ModelFormat::gguf : ModelFormat::qkv), stored);
    const auto bytes = static_cast<double>(size_of(output));
    if (!quiet)
      say(output +
          (bytes < 1e6 ? fmt::format(": {:.0f} kB", 1e-3 * bytes) : fmt::format(": {:.1f} MB", 1e-6 * bytes)));
    return 0;
  }

 private:
  static uintmax_t size_of(const std::filesystem::path& written) {
    if (!std::filesystem::is_directory(written)) return std::filesystem::file_size(written);
    uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(written))
      if (entry.is_regular_file()) sum += entry.file_size();
    return sum;
  }
};

}  // namespace

Command add_convert(App& parent) {
  App& app =
      *parent.add_subcommand("convert", "write a model in the format of qkv, llama.cpp (GGUF) or transformers");
  const auto c = std::make_shared<ConvertCommand>();
  model_flag(app, c->model)->required();
  flag(app, "--output", c->output, "folder to write, which must be new or empty; for GGUF a new file", "PATH")
      ->required();
  app.group("Output");
  choice(app, "--format", c->format,
         "qkv; gguf: a file of llama.cpp, for the published families that it has; huggingface: Marian, for post-LN "
         "models with one vocabulary; automatic: gguf if the name of the output ends in .gguf, else qkv");
  choice(app, "--weights", c->stored.weights,
         "numbers that weights are stored as; automatic: as in the model; bf16 takes half of the space of f32, "
         "int8 a quarter, q4_k a seventh");
  quiet_flag(app, c->quiet);
  app.footer(
      "Examples:\n"
      "  qkv convert -m opus-mt-en-de -o ours\n"
      "  qkv convert -m ours -o smaller --weights int8\n"
      "  qkv convert -m llama-3.2-1b -o llama-q4_k.gguf --weights q4_k\n"
      "  qkv convert -m ours -o marian --format huggingface\n"
      "  ct2-transformers-converter --model marian --output_dir ct2");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
