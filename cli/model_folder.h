// Reading the model that --model names. A folder without a model is an InputError that says how to make one:
//
//     qkv translate: --model nowhere is not a model folder: it does not exist; qkv train --model nowhere makes one
//
// and so is a model of an architecture that the command cannot use, with the commands that can:
//
//     qkv translate: --model stories is a causal model; use it with qkv generate, chat, perplexity, inspect, embed, describe
#pragma once

#include <string>

#include "cli/flags.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"

namespace qkv::cli {

// How its weights are held.
void weight_flags(App& app, InferenceOptions& options);
void cache_flag(App& app, InferenceOptions& options);  // of commands that decode token by token
void draft_flag(App& app, std::string& folder);        // of a model that proposes tokens

Translator open_translator(const std::string& command, const std::string& folder, const InferenceOptions& options);
Generator open_generator(const std::string& command, const std::string& folder, const InferenceOptions& options);
// Of --draft, "" where it is not given: UsageError where options exclude it; the model, for the generator.
void check_draft(const std::string& command, const std::string& folder, const GenerateTextOptions& options);
void open_draft(const std::string& command, const std::string& folder, const InferenceOptions& held,
                Generator& generator);
Embedder open_embedder(const std::string& command, const std::string& folder, const InferenceOptions& options);
MaskFiller open_mask_filler(const std::string& command, const std::string& folder, const InferenceOptions& options);
ModelConfig open_config(const std::string& command, const std::string& folder);

}  // namespace qkv::cli
