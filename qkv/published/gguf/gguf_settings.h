// The metadata of a GGUF file as the settings of a config.json, a function for each architecture (gguf_architecture.h).
#pragma once

#include "qkv/base/json.h"
#include "qkv/published/gguf/gguf_file.h"

namespace qkv::gguf_settings {

Json llama(const GgufFile& file);
Json qwen2(const GgufFile& file);
Json qwen3(const GgufFile& file);
Json gemma2(const GgufFile& file);
Json gemma3(const GgufFile& file);
Json phi3(const GgufFile& file);
Json gpt2(const GgufFile& file);
Json gpt_neox(const GgufFile& file);
Json falcon(const GgufFile& file);
Json bloom(const GgufFile& file);
Json bert(const GgufFile& file);
Json t5(const GgufFile& file);

}  // namespace qkv::gguf_settings
