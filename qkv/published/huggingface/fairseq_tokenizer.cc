#include <sstream>

#include "qkv/base/file.h"
#include "qkv/published/huggingface/tokenizer_files.h"
#include "qkv/published/word_vocabulary.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// The languages of M2M100, in the order of their ids.
constexpr const char* languages =
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi "
    "hr ht hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns "
    "oc or pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh "
    "zu";

}  // namespace

Tokenizer fairseq_tokenizer(const fs::path& folder, SpecialTokens special, const FairseqSettings& settings) {
  const fs::path file = folder / "sentencepiece.bpe.model";
  std::string bytes = read_file(file, largest_vocabulary_file);
  PieceIds ids;
  if (file_exists(folder / "vocab.json")) {
    ids = read_ids(folder / "vocab.json");
  } else {
    ids = {{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
    const std::vector<std::string> pieces = pieces_of(bytes, file.string());
    for (size_t id = 3; id < pieces.size(); ++id) ids.try_emplace(pieces[id], static_cast<int32_t>(id) + 1);
  }
  int32_t next = 0;
  for (const auto& [piece, id] : ids) next = std::max(next, id + 1);
  const auto add = [&](const std::string& token) {
    const auto [at, is_new] = ids.try_emplace(token, next);
    if (is_new) ++next;
    special.added.push_back(at->second);
    return at->second;
  };
  if (settings.has_languages) {
    std::istringstream codes(languages);
    for (std::string code; codes >> code;) add("__" + code + "__");
  }
  for (const std::string& token : settings.added) add(token);
  const auto find = [&](const std::string& token) {
    const auto found = ids.find(token);
    require<InputError>(found != ids.end(), file.string(), "there is no token {}", quoted_name(token));
    return found->second;
  };
  special.unk = find("<unk>");
  if (const auto mask = ids.find("<mask>"); mask != ids.end()) special.mask = mask->second;
  const std::string& language = settings.source_language;
  special.frame = TextFrame{{find(language.empty()         ? "<s>"
                                  : ids.contains(language) ? language
                                                           : "__" + language + "__")},
                            {find("</s>")}};
  return Tokenizer(make_piece_tokenizer(std::move(bytes), file.string(), std::move(ids), std::move(special)));
}

}  // namespace qkv
