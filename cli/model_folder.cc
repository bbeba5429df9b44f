#include "cli/model_folder.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <vector>

#include "qkv/base/file.h"
#include "qkv/published/foreign_folder.h"
#include "qkv/published/load_model.h"
#include "qkv/published/model_folder.h"

namespace qkv::cli {
namespace {

// The flags of a training whose model the command can use.
const char* training_data(const std::string& command) {
  if (command == "generate" || command == "chat" || command == "perplexity")
    return "--architecture causal --train TEXT.txt";
  return command == "fill-mask" ? "--architecture masked --train TEXT.txt" : "--train PAIRS.tsv";
}

void check_is_model(const std::string& command, const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = folder;
  const auto refuse = [&](const std::string& reason) {
    fail<InputError>("qkv " + command, "--model {} is not a model folder: {}", folder, reason);
  };
  const std::string making = fmt::format("; qkv train --model {} {} makes one", folder, training_data(command));
  if (const std::string what = foreign_folder(folder); !what.empty()) refuse(what);
  if (!std::filesystem::exists(folder, error)) {
    if (path.extension() == ".gguf")
      fail<InputError>("qkv " + command,
                       "--model {0}: there is no such file; hf download REPOSITORY {1} --local-dir . downloads it "
                       "from a repository of the Hugging Face Hub",
                       folder, path.filename().string());
    const std::string download =
        fmt::format("; hf download {0} --local-dir {0} downloads one of that name", folder);
    refuse("it does not exist" + (folder.find('/') == folder.npos ? download : "") + making);
  }
  if (!std::filesystem::is_directory(folder, error)) {
    if (path.extension() == ".gguf") return;
    const std::filesystem::path around = path.parent_path();
    if (file_exists(around / "config.json"))
      refuse(fmt::format("it is a file of one; give the folder, {}", around.empty() ? "." : around.string()));
    refuse("it is a file; a model is a folder, or a GGUF file, whose name ends in .gguf");
  }
  if (is_published(folder)) return;
  for (const char* name : {"config.json", "model.safetensors"})
    if (file_exists(find_in_model(folder, name))) return;
  for (const std::filesystem::path& inside : files_in(folder))
    if (file_exists(inside / "config.json"))
      refuse("it has folders of models; give one, such as " + inside.string());
  if (file_exists(path / "training" / "options.json"))
    refuse(fmt::format("its training has saved no model yet; qkv train --model {} --resume continues it", folder));
  refuse("it has no config.json" + making);
}

// The tensors of a published model say it.
bool has_head(const std::string& folder) {
  return !is_published(folder) || read_model(folder).model->config().has_head();
}

struct Use {
  Architecture architecture;
  const char* model;
  std::vector<std::string_view> commands;
};

void check_can_be_used(const std::string& command, const std::string& folder) {
  static const std::vector<Use> uses = {
      {Architecture::encoder_decoder,
       "an encoder-decoder",
       {"translate", "score", "evaluate", "inspect", "embed", "describe"}},
      {Architecture::causal, "a causal model", {"generate", "chat", "perplexity", "inspect", "embed", "describe"}},
      {Architecture::masked, "a masked model", {"fill-mask", "inspect", "embed", "describe"}}};
  if (!is_published(folder) && !file_exists(find_in_model(folder, "config.json"))) return;
  const Architecture of_model = load_config(folder).architecture();
  const Architecture architecture = is_recurrent(of_model) ? Architecture::encoder_decoder : of_model;
  for (const Use& use : uses) {
    if (use.architecture != architecture ||
        std::find(use.commands.begin(), use.commands.end(), command) != use.commands.end())
      continue;
    if (!has_head(folder))
      fail<InputError>("qkv " + command,
                       "--model {} is {} without a head for the logits of tokens; use it with qkv embed, describe",
                       folder, use.model);
    fail<InputError>("qkv " + command, "--model {} is {}; use it with qkv {}", folder, use.model,
                     name_list(use.commands));
  }
}

// Looks for the error in a folder only after reading failed, because a training may just be replacing the model.
template <class Read>
auto read_from(const std::string& command, const std::string& folder, Read read) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    fail<InputError>("qkv " + command, "--model {}: out of memory while reading it", folder);
  } catch (const InputError&) {
    check_is_model(command, folder);
    check_can_be_used(command, folder);
    throw;
  }
}

}  // namespace

void weight_flags(App& app, InferenceOptions& options) {
  choice(app, "--weights", options.weights,
         "numbers that weights are held as; automatic: as they are stored; bf16 takes half of the memory of f32, "
         "int8 a quarter, q4_k a seventh")
      ->group("General");
  choice(app, "--precision", options.precision,
         "numbers that products with f32 and bf16 weights are computed from; bf16: weights and what they are "
         "multiplied by are rounded to bf16, which is faster on processors with AVX512_BF16 or AMX")
      ->group("General");
  app.add_flag("--map", options.map,
               "use weights in place in the mapped file: processes share them, and a model is ready sooner; tokens "
               "take longer")
      ->group("General");
}

void draft_flag(App& app, std::string& folder) {
  flag(app, "--draft", folder,
       "smaller model with the same vocabulary, which proposes tokens that --model then reads together: the same "
       "answer, "
       "sooner where they agree",
       "MODEL")
      ->group("Speculation");
}

void cache_flag(App& app, InferenceOptions& options) {
  choice(app, "--cache", options.cache,
         "numbers that keys and values of earlier tokens are held as: bf16 takes half of the memory of f32, int8 a "
         "quarter")
      ->group("General");
}

Translator open_translator(const std::string& command, const std::string& folder, const InferenceOptions& options) {
  return read_from(command, folder, [&] { return Translator(std::filesystem::path(folder), options); });
}

Generator open_generator(const std::string& command, const std::string& folder, const InferenceOptions& options) {
  return read_from(command, folder, [&] { return Generator(std::filesystem::path(folder), options); });
}

void check_draft(const std::string& command, const std::string& folder, const GenerateTextOptions& options) {
  if (folder.empty()) return;
  require<UsageError>(options.lookup == 0, "qkv " + command, "--draft and --lookup exclude each other");
  require<UsageError>(options.beam == 1, "qkv " + command,
                      "--beam {} excludes --draft, which proposes tokens of one text", options.beam);
}

void open_draft(const std::string& command, const std::string& folder, const InferenceOptions& held,
                Generator& generator) {
  if (folder.empty()) return;
  try {
    generator.set_draft(Generator(folder, held));
  } catch (const InputError& error) {
    fail<InputError>("qkv " + command, "--draft {}: {}", folder, error.what());
  }
}

Embedder open_embedder(const std::string& command, const std::string& folder, const InferenceOptions& options) {
  return read_from(command, folder, [&] { return Embedder(std::filesystem::path(folder), options); });
}

MaskFiller open_mask_filler(const std::string& command, const std::string& folder,
                            const InferenceOptions& options) {
  return read_from(command, folder, [&] { return MaskFiller(std::filesystem::path(folder), options); });
}

ModelConfig open_config(const std::string& command, const std::string& folder) {
  return read_from(command, folder, [&] { return load_config(folder); });
}

}  // namespace qkv::cli
