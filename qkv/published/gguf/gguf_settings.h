// The metadata of a GGUF file as the settings of a config.json, a function for each architecture (gguf_architecture.h).
#pragma once

#include "qkv/base/json.h"
#include "qkv/published/gguf/gguf_outline.h"

namespace qkv::gguf_settings {

Json llama(const GgufOutline& file);
Json qwen2(const GgufOutline& file);
Json qwen3(const GgufOutline& file);
Json gemma2(const GgufOutline& file);
Json gemma3(const GgufOutline& file);
Json phi3(const GgufOutline& file);
Json gpt2(const GgufOutline& file);
Json gpt_neox(const GgufOutline& file);
Json falcon(const GgufOutline& file);
Json bloom(const GgufOutline& file);
Json bert(const GgufOutline& file);
Json t5(const GgufOutline& file);

}  // namespace qkv::gguf_settings
