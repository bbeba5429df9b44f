#include "qkv/text/tokenizer/post_processor.h"

#include "qkv/base/json_fields.h"

namespace qkv {
namespace {

using Parts = std::vector<PostProcessor::Part>;

// ["</s>", 2]
int32_t id_of_pair(const JsonFields& fields, const char* key) {
  const Json& pair = fields.list(key);
  require<InputError>(pair.size() == 2, fields.where(), "'{}' must be a token and its id, got {}", key,
                      shown_json(pair));
  return static_cast<int32_t>(fields.as_integer(pair[1], key));
}

Parts read_template(const JsonFields& fields, const char* key) {
  Parts parts;
  for (const JsonFields& item : fields.objects(key)) {
    if (item.has("Sequence")) {
      const JsonFields sequence = item.object("Sequence");
      const std::string name = sequence.text("id");
      require<InputError>(name == "A" || name == "B", sequence.where(), "'id' must be A or B, got {}",
                          quoted_name(name));
      parts.push_back({.text = name == "A" ? 0 : 1, .type = static_cast<int32_t>(sequence.integer("type_id", 0))});
      continue;
    }
    const JsonFields special = item.object("SpecialToken");
    const std::string name = special.text("id");
    const auto type = static_cast<int32_t>(special.integer("type_id", 0));
    const JsonFields known = fields.object("special_tokens");
    require<InputError>(known.has(name.c_str()), known.where(), "there is no {}", quoted_name(name));
    const JsonFields token = known.object(name.c_str());
    for (const Json& id : token.list("ids"))
      parts.push_back({.id = static_cast<int32_t>(token.as_integer(id, "ids")), .type = type});
  }
  return parts;
}

}  // namespace

PostProcessor read_post_processor(const JsonFields& fields) {
  const std::string type = fields.text("type");
  PostProcessor post;
  if (type == "TemplateProcessing") {
    post.single = read_template(fields, "single");
    if (fields.has("pair")) post.pair = read_template(fields, "pair");
    return post;
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    const int32_t begin = id_of_pair(fields, "cls"), end = id_of_pair(fields, "sep");
    post.single = {{.id = begin}, {.text = 0}, {.id = end}};
    if (type == "BertProcessing")
      post.pair = {{.id = begin}, {.text = 0}, {.id = end}, {.text = 1, .type = 1}, {.id = end, .type = 1}};
    else
      post.pair = {{.id = begin}, {.text = 0}, {.id = end}, {.id = end}, {.text = 1}, {.id = end}};
    return post;
  }
  if (type == "ByteLevel") return post;
  if (type != "Sequence") fields.unknown_type("post-processors");
  bool has_template = false;
  for (const JsonFields& item : fields.objects("processors")) {
    if (item.text("type") == "ByteLevel") continue;
    require<InputError>(!has_template, item.where(), "a sequence with two templates is not supported");
    has_template = true;
    post = read_post_processor(item);
  }
  return post;
}

}  // namespace qkv
