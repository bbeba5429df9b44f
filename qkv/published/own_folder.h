// A model folder of ours, as save_model() and qkv train write it (model/model_file.h).
//
//     const std::unique_ptr<ModelFolder> folder = open_own("my-model");
//     Tokenizer source = read_own_tokenizer("my-model", Architecture::encoder_decoder, TokenizerSide::source, sums);
//
// A config.json as it was saved is only checked; one written or edited by hand (without a checksum) overrides the
// configuration in model.safetensors. Errors: InputError, naming the file, for a missing, extra or misshapen parameter,
// and for a file that does not have the checksum in model.safetensors.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/model/model_file.h"
#include "qkv/published/model_folder.h"

namespace qkv {

std::unique_ptr<ModelFolder> open_own(const std::filesystem::path& path);

// source.model, target.model or tokenizer.model.
const char* tokenizer_file(Architecture architecture, TokenizerSide side);
// sums: the checksums that the files must have, as far as they are known.
Tokenizer read_own_tokenizer(const std::filesystem::path& folder, Architecture architecture, TokenizerSide side,
                             const VocabularyChecksums& sums);

}  // namespace qkv
