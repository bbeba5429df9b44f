// The tokens that a tokenizer adds around a text or a pair of texts, as in tokenizer.json: TemplateProcessing,
// BertProcessing, RobertaProcessing, ByteLevel (which adds nothing) and sequences of them.
//
//     const PostProcessor post = read_post_processor(fields);
//     post.single                                       // {{.id = 101}, {.text = 0}, {.id = 102}}: [CLS] A [SEP]
#pragma once

#include <cstdint>
#include <vector>

namespace qkv {

class JsonFields;

struct PostProcessor {
  struct Part {
    int32_t text = -1;  // 0 or 1: that text; else the token `id`
    int32_t id = 0;
    int32_t type = 0;  // the token type
  };
  std::vector<Part> single = {{.text = 0}}, pair = {{.text = 0}, {.text = 1, .type = 1}};
};

PostProcessor read_post_processor(const JsonFields& fields);

}  // namespace qkv
