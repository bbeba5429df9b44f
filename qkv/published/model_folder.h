// A model folder of any format, ours or a published one, opened once. A GGUF file stands for a folder wherever a folder
// is expected.
//
//     const std::unique_ptr<ModelFolder> folder = open_model_folder("opus-mt-en-de");
//     folder->config()                                     // as the settings say
//     folder->read_parameters(make, store_for_inference({}));   // into the model that make(config) returns
//     folder->tokenizer(TokenizerSide::source)
//
// A format is a folder here with a class derived from this one, and a row of the table in model_folder.cc. What it reads
// it reads when it is asked and then keeps, so that one object answers for one state of the files; programs that read a
// model while a training replaces it call read_together() (model/model_file.h). Errors: InputError, naming the file.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qkv/kernel/weight_format.h"
#include "qkv/model/model.h"
#include "qkv/model/store_parameters.h"
#include "qkv/text/chat_template/chat_template.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

enum class TokenizerSide { source, target };

// Makes the model of a configuration, into which parameters are read.
using MakeModel = std::function<Model&(const ModelConfig& config)>;

class ModelFolder {
 public:
  virtual ~ModelFolder() = default;
  ModelFolder(const ModelFolder&) = delete;
  ModelFolder& operator=(const ModelFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  virtual bool is_published() const { return true; }

  // From the settings alone, if the format has a file of them. After read_parameters() the configuration of the model:
  // tensors say which embeddings are shared, and whether there is a head.
  virtual const ModelConfig& config() = 0;
  virtual void read_parameters(const MakeModel& make, const StoreParameter& store) = 0;

  // A model of one stack has the same tokenizer on both sides.
  virtual Tokenizer tokenizer(TokenizerSide side) = 0;

  // The settings of search and sampling: generation_config.json, or in older folders config.json, among others.
  struct SettingsFile {
    std::string json, file;
  };
  virtual std::optional<SettingsFile> generation_config() const;
  // How a conversation is written as a prompt, and the special tokens for it: chat_template_files.h.
  virtual ChatTemplateSource chat_template() const;
  // The `model_type` of Hugging Face, where the format has it: "phi3"; else "".
  virtual std::string family() const { return {}; }
  // The format that the weights are held in for inference, unless another one is asked for: that of the most numbers in
  // matrices. f32 if the files cannot be read.
  virtual WeightFormat stored_weights() const;

 protected:
  explicit ModelFolder(std::filesystem::path path) : path_(std::move(path)) {}

 private:
  std::filesystem::path path_;
};

// InputError, with the cure, for a path that is neither a folder nor a GGUF file, and for what is known not to be a model.
std::unique_ptr<ModelFolder> open_model_folder(const std::filesystem::path& path);

// Whether the folder holds a model of another program.
bool is_published(const std::filesystem::path& path);

}  // namespace qkv
