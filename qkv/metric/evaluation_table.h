// The results of an evaluation as text and as JSON.
//
//     results_table(e.results())
//         system  BLEU                                 chrF2           TER             exact match
//         base    36.20                                58.10           47.30           0.1200
//         big     37.50 (p = 0.0120)*                  ...
//
//     results_json(e.results())          // [{"system": "base", "BLEU": {"score": 36.2}, ...}, ...], as sacreBLEU
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "qkv/metric/evaluation.h"

namespace qkv {

class Json;

// One system as sacreBLEU prints it: a line NAME|SIGNATURE = SCORE for each metric.
std::string metric_line(const MetricResult& result);
Json metric_json(const MetricResult& result);

// Several systems. Below the table are the signatures and an explanation of p.
std::string results_table(std::span<const SystemResult> results);
Json results_json(std::span<const SystemResult> results);

// `measured` names what was counted: "source words".
std::string length_table(std::span<const LengthBucket> buckets, std::string_view measured);
Json length_json(std::span<const LengthBucket> buckets);

}  // namespace qkv
