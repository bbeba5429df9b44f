// A published folder whose format gives its model as configuration, names and tensors at once (published_model.h).
//
//     class MarianFolder : public PublishedModelFolder {
//       PublishedModel read_model() override;
//       Tokenizer read_tokenizer(TokenizerSide side, int64_t rows) override;
//     };
#pragma once

#include <optional>

#include "qkv/published/model_folder.h"
#include "qkv/published/published_model.h"

namespace qkv {

// InputError if the special tokens or the tokens of texts have ids that the model has no rows for.
void check_ids(const Tokenizer& tokenizer, int64_t rows, const std::string& where);

class PublishedModelFolder : public ModelFolder {
 public:
  const ModelConfig& config() final;
  void read_parameters(const MakeModel& make, const StoreParameter& store) override;
  Tokenizer tokenizer(TokenizerSide side) final;

 protected:
  using ModelFolder::ModelFolder;

  virtual PublishedModel read_model() = 0;
  // Formats whose settings are a file of their own read the configuration without the tensors.
  virtual TransformerConfig read_config() { return model().config; }
  // rows: the number of ids that the model has on this side.
  virtual Tokenizer read_tokenizer(TokenizerSide side, int64_t rows) = 0;

 private:
  PublishedModel& model();

  std::optional<PublishedModel> model_;  // until its parameters have been read
  std::optional<ModelConfig> config_;
};

}  // namespace qkv
