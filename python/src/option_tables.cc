// The options of the functions that use a model, for their types, signatures and help (_options.py).

#include "python/src/bind.h"
#include "python/src/settings.h"
#include "qkv/decode/option_table.h"
#include "qkv/pipeline/embedder.h"
#include "qkv/pipeline/generator.h"
#include "qkv/pipeline/mask_filler.h"
#include "qkv/pipeline/translator.h"

namespace qkv::python {
namespace {

template <class Options>
nb::list rows_of() {
  const Options options;
  SettingRows rows;
  visit_options(options, rows);
  return rows.list;
}

// The rows of each struct of options, by its name.
nb::dict decoding_options() {
  nb::dict tables;
  tables["TranslateOptions"] = rows_of<TranslateOptions>();
  tables["ScorePairsOptions"] = rows_of<ScorePairsOptions>();
  tables["GenerateTextOptions"] = rows_of<GenerateTextOptions>();
  tables["ScoreTextOptions"] = rows_of<ScoreTextOptions>();
  tables["EmbedOptions"] = rows_of<EmbedOptions>();
  tables["FillMaskOptions"] = rows_of<FillMaskOptions>();
  return tables;
}

}  // namespace

void bind_option_tables(nb::module_& m) { m.def("decoding_options", &decoding_options); }

}  // namespace qkv::python
