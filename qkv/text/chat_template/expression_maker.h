// Expressions of a bounded depth.
//
//     const int depth = std::max(depth_of(left), depth_of(right));
//     value = make_expression(line, Binary{op, std::move(left), std::move(right)}, depth);
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "qkv/text/chat_template/parser.h"
#include "qkv/text/chat_template/syntax.h"
#include "qkv/text/chat_template/template_error.h"

namespace qkv::jinja {

inline int depth_of(const ExpressionPtr& part) { return part ? part->depth : 0; }

inline int depth_of(const std::vector<ExpressionPtr>& parts) {
  int depth = 0;
  for (const ExpressionPtr& part : parts) depth = std::max(depth, depth_of(part));
  return depth;
}

inline int depth_of(const CallArguments& arguments) {
  int depth =
      std::max({depth_of(arguments.positional), depth_of(arguments.rest), depth_of(arguments.keyword_rest)});
  for (const auto& [name, value] : arguments.keywords) depth = std::max(depth, depth_of(value));
  return depth;
}

template <class Node>
ExpressionPtr make_expression(int line, Node node, int depth_of_parts = 0) {
  if (depth_of_parts >= max_tree_depth)
    template_error_at(line, "expressions are nested more than {} deep", max_tree_depth);
  return std::make_unique<const Expression>(Expression{line, depth_of_parts + 1, std::move(node)});
}

}  // namespace qkv::jinja
