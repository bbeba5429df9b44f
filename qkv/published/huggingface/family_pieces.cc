// SentencePiece models as the tokenizers of families use them: the tokens around a text, the ids that differ from the
// model's, and the tokens in addition to its pieces.
#include <algorithm>

#include "qkv/base/file.h"
#include "qkv/published/huggingface/folder_settings.h"
#include "qkv/published/huggingface/tokenizer_files.h"
#include "qkv/text/tokenizer/stored_tokenizer.h"

namespace qkv {
namespace {

class FamilyPieces {
 public:
  FamilyPieces(const std::filesystem::path& file, const FolderSettings& settings)
      : file_(file.string()),
        settings_(settings),
        class_(settings.tokenizer_class()),
        bytes_(read_file(file, largest_vocabulary_file)),
        special_(settings.special_tokens()) {
    const std::vector<std::string> pieces = pieces_of(bytes_, file_);
    for (size_t id = 0; id < pieces.size(); ++id) ids_[pieces[id]] = static_cast<int32_t>(id);
  }

  Tokenizer read() {
    if (class_ == "PegasusTokenizer")
      read_pegasus();
    else if (class_ == "BigBirdTokenizer")
      frame(settings_.token("cls_token", "[CLS]"), settings_.token("sep_token", "[SEP]"));
    else if (class_ == "T5Tokenizer" || class_ == "MT5Tokenizer")
      read_t5();
    else
      read_llama();
    add_tokens();
    special_.unk =
        id_of(settings_.token("unk_token", "<unk>"), settings_.model_type().starts_with("gemma") ? 3 : 0);
    if (const std::string mask = settings_.token("mask_token"); !mask.empty()) special_.mask = id_of(mask, -1);
    return Tokenizer(make_piece_tokenizer(std::move(bytes_), file_,
                                          is_changed_ ? std::optional(std::move(ids_)) : std::nullopt,
                                          std::move(special_), std::move(in_text_)));
  }

 private:
  int32_t id_of(const std::string& piece, int32_t absent) const {
    const auto found = ids_.find(piece);
    return found == ids_.end() ? absent : found->second;
  }

  int32_t needed(const std::string& piece) const {
    const int32_t id = id_of(piece, -1);
    require<InputError>(id >= 0, file_, "there is no {}, which the tokenizer of this family puts around a text",
                        quoted_name(piece));
    return id;
  }

  void frame(const std::string& before, const std::string& after) {
    special_.frame = TextFrame{{needed(before)}, {needed(after)}};
    special_.added.push_back(needed(before));
    special_.added.push_back(needed(after));
  }

  void add(const std::string& token, int32_t id) {
    is_changed_ = is_changed_ || id_of(token, -1) != id;
    ids_[token] = id;
    special_.added.push_back(id);
  }

  // Before the pieces from <unk> on there are 103 tokens for training: <mask_1>, <mask_2>, <unk_2> to <unk_102>.
  void read_pegasus() {
    const auto offset = static_cast<int32_t>(std::min<int64_t>(settings_.integer("offset", 103), 10'000));
    for (auto& [piece, id] : ids_)
      if (id > 1) id += offset;
    is_changed_ = offset > 0;
    if (offset > 0) {
      add("<mask_1>", 2);
      add("<mask_2>", 3);
      for (int32_t i = 2; i < offset; ++i) add(fmt::format("<unk_{}>", i), i + 2);
    }
    special_.frame = TextFrame{.before = {}, .after = {special_.eos}};
  }

  // After the pieces there are tokens that stand for parts of a text, the last one first.
  void read_t5() {
    special_.frame = TextFrame{.before = {}, .after = {special_.eos}};
    const int64_t extra = settings_.integer("extra_ids", settings_.model_type() == "t5" ? 100 : 0);
    const auto pieces = static_cast<int64_t>(ids_.size());
    if (pieces + extra > settings_.rows()) return;
    for (int64_t i = 0; i < extra; ++i) {
      const std::string name = fmt::format("<extra_id_{}>", i);
      if (!ids_.contains(name)) add(name, static_cast<int32_t>(pieces + extra - 1 - i));
    }
  }

  void read_llama() {
    TextFrame frame;
    if (settings_.flag("add_bos_token", true))
      frame.before = {id_of(settings_.token("bos_token"), settings_.id("bos_token_id", 1))};
    if (settings_.flag("add_eos_token", false)) frame.after = {id_of(settings_.token("eos_token"), special_.eos)};
    special_.frame = frame;
  }

  // The model itself finds those that are pieces.
  void add_tokens() {
    for (const AddedToken& token : settings_.added_tokens()) {
      if (token.id >= settings_.rows() || ids_.contains(token.content)) continue;
      is_changed_ = true;
      ids_[token.content] = token.id;
      (token.special ? special_.added : in_text_).push_back(token.id);
    }
  }

  std::string file_;
  const FolderSettings& settings_;
  std::string class_, bytes_;
  SpecialTokens special_;
  PieceIds ids_;
  bool is_changed_ = false;  // ids_ are not those of the model
  std::vector<int32_t> in_text_;
};

}  // namespace

Tokenizer piece_tokenizer(const std::filesystem::path& file, const FolderSettings& settings) {
  return FamilyPieces(file, settings).read();
}

}  // namespace qkv
