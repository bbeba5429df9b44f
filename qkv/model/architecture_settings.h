// The settings of an architecture as flags, settings files and Python give them, in any order: those of Transformers and
// of recurrent models, for which of them the model has is known once all are read.
//
//     ArchitectureSettings settings(recipe("luong"));              // where the others have their defaults
//     settings.visit([](const Setting& setting, auto& field) { ... });   // every row that users choose
//     ModelConfig config = settings.config("train");
//
// Errors: UsageError "train: heads is for Transformers: a luong model has none".
#pragma once

#include <string_view>

#include "qkv/model/architecture_table.h"

namespace qkv {

class ArchitectureSettings {
 public:
  explicit ArchitectureSettings(const ModelConfig& config = {});

  Architecture architecture() const { return architecture_; }
  template <class Visitor>
  void visit(Visitor&& visitor) {
    visit_rows(*this, visitor);
  }
  template <class Visitor>
  void visit(Visitor&& visitor) const {
    visit_rows(*this, visitor);
  }
  // Of the architecture chosen, with what was not set as it was. UsageError for a setting that it lacks and that was
  // changed.
  ModelConfig config(std::string_view where) const;

 private:
  template <class Self, class Visitor>
  static void visit_rows(Self& self, Visitor&& visitor) {
    const auto row = [&](const Setting& setting, auto& field, const FieldUse&) { visitor(setting, field); };
    architecture_table::visit_architecture(self.architecture_, row);
    architecture_table::visit_settings(self.fields_, row);
  }

  Architecture architecture_;
  TransformerConfig fields_, before_;  // a recurrent model has some of these rows
};

}  // namespace qkv
